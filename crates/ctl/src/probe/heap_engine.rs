//! Decides which library to preload and which malloc serves the heap.

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};
use hugetools_elf::Ident;

use crate::probe::allocator::Own;
use crate::probe::command_line::known_programs::KnownProgram;
use crate::probe::kernel::Wants;
use crate::probe::target::{Image, Libc, Target};
use crate::request::{HeapEngine, Preload, Run};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// The malloc that serves the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// Our library's.
    Arena,
    /// The C library's, configured by a tunable.
    Libc,
    /// That of the libhugetlbfs that the program is linked with; only variables are set.
    Linked,
    /// `--heap` isn't requested, or no malloc can use huge pages.
    #[default]
    None,
}

/// The facts about the program, as far as needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// The program; `None` in a dry run without one.
    pub(crate) target: Option<Target>,
    /// The program behind a wrapper.
    pub(crate) wrapped: Option<Target>,
    /// The program's own allocator. Only read for `--heap` and `--auto`.
    pub(crate) own: Option<Own>,
    /// Whether its glibc knows `glibc.malloc.hugetlb`. Read if glibc may serve the heap.
    pub(crate) tunable: bool,
    /// Whether `known` has memory that `--heap` doesn't reach, and its own switch is not set.
    pub(crate) has_own_memory: bool,
    pub(crate) known: Option<&'static KnownProgram>,
}

impl Look {
    pub(crate) fn is_static(&self) -> bool {
        let target = self.target.as_ref();
        target.is_some_and(|target| target.image == Image::Static)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) engine: Engine,
    pub(crate) library: Option<&'static str>,
    pub(crate) notes: Vec<Note>,
}

/// Decides by the request and the program.
pub(crate) fn decide(asked: Wants, run: &Run, look: &Look) -> Decision {
    let mut programs = look.target.iter().chain(&look.wrapped);
    let unreachable = programs
        .find_map(unreachable)
        .filter(|_| !run.forces_preload());
    if let Some(why) = unreachable {
        let short = why.consequence_first("nothing can be put on huge pages");
        return Decision {
            engine: Engine::None,
            library: None,
            notes: vec![Note::short(Level::Warning, short)],
        };
    }
    let engine = engine(asked, run, look);
    Decision {
        engine,
        library: library(asked, run, look, engine),
        notes: notes(asked, run, look, engine),
    }
}

fn engine(asked: Wants, run: &Run, look: &Look) -> Engine {
    let keeps_own = look.own.is_some() && (!run.forces_preload() || run.wants_libc());
    if asked.heap.is_none() {
        Engine::None
    } else if look.is_static() {
        match look.tunable {
            true => Engine::Libc,
            false => Engine::None,
        }
    } else if keeps_own || run.wants_libc() && libc_fault(look).is_some() {
        Engine::None
    } else if run.wants_libc() {
        Engine::Libc
    } else if run.preload == Preload::Never {
        Engine::Linked
    } else {
        Engine::Arena
    }
}

fn library(asked: Wants, run: &Run, look: &Look, engine: Engine) -> Option<&'static str> {
    // Children of a static program may be dynamic.
    let for_children = asked.heap.is_some() && look.is_static() && !run.wants_libc();
    match run.preload {
        Preload::Never => None,
        _ if engine == Engine::Arena || for_children => Some(HEAP_LIBRARY),
        _ => Some(LIBRARY),
    }
}

/// Returns why the program's libc cannot be configured.
fn libc_fault(look: &Look) -> Option<&'static str> {
    match look.target.as_ref().map(|target| &target.image) {
        // Without a program, or its headers, assume that it can be.
        None | Some(Image::Unknown(_)) => None,
        Some(Image::Dynamic(Libc::Glibc)) if look.tunable => None,
        Some(Image::Dynamic(Libc::Glibc)) => Some("the program's glibc is older than 2.35"),
        Some(Image::Dynamic(Libc::Musl)) => Some("the program's C library is musl"),
        Some(_) => Some("the program's C library is not known"),
    }
}

/// Returns why we cannot serve a program at all: it is privileged, or of another architecture.
fn unreachable(target: &Target) -> Option<Shortfall> {
    let name = target.program.display();
    if let Some(secure) = target.secure_exec {
        let fact = format!(
            "{name} is {secure}, and the loader of such a program takes no library from its user"
        );
        let short = Shortfall::new(Subject::ALL, fact).source(name, secure);
        return Some(short.advise(secure.advice()));
    }
    let Image::Foreign(ident) = &target.image else {
        return None;
    };
    let fact = format!(
        "{name} is for {ident}, our libraries are for {}; unless this kernel or an emulator \
         (binfmt_misc) runs such programs, the start fails with status 126",
        Ident::native()
    );
    Some(Shortfall::new(Subject::ALL, fact).source(name, ident))
}

const STATIC: &str = "the program is static, so no library can be added to it";

const BY_PID: &str = "hugectl --pid reaches it once it runs";

const KEPT: &str = "the program's own glibc serves the heap, configured by GLIBC_TUNABLES";

fn notes(asked: Wants, run: &Run, look: &Look, engine: Engine) -> Vec<Note> {
    let mut notes = Vec::new();
    let heap = asked.heap.is_some();
    let warning = |short| Note::short(Level::Warning, short);
    if run.engine.is_some() && !heap {
        notes.push(Note::warning("--heap-engine does nothing without --heap"));
    }
    notes.extend(libc_note(run, look, engine));
    let wants_libc = run.wants_libc() && heap && look.own.is_none() && !look.is_static();
    if let Some(why) = libc_fault(look).filter(|_| wants_libc) {
        let fact = format!("--heap-engine=libc needs glibc 2.35 or later, and {why}");
        let short = Shortfall::new(Subject::HEAP, fact);
        notes.push(warning(
            short.consequence_first("the heap stays on base pages"),
        ));
    }
    notes.extend(static_shortfall(asked, look, engine).map(warning));
    let own = look
        .own
        .as_ref()
        .filter(|_| heap && engine != Engine::Arena);
    if let Some(own) = own {
        let short =
            Shortfall::new(Subject::HEAP, own.fact()).consequence_first("the heap stays as it is");
        // With `has_own_memory`, the table of known programs has the advice.
        let by_anon = own.is_reached_by_anon() && asked.anon.is_none() && !look.has_own_memory;
        notes.push(warning(match by_anon {
            true => short.advise("--anon reaches it"),
            false => short,
        }));
    }
    let anon = asked.anon.is_some() && !look.is_static();
    let known = look.known.filter(|_| look.has_own_memory);
    if let Some(short) = known.and_then(|known| known.shortfall(heap, anon)) {
        // A choice of --auto is a best effort, so nothing falls short.
        let is_chosen = run.chosen_subject().contains(short.subject);
        notes.push(match is_chosen {
            true => Note::info(short.to_string()),
            false => warning(short),
        });
    }
    if run.preload == Preload::Never && asked.are_any() {
        notes.push(Note::info(
            "--no-preload: only programs linked with libhugetlbfs follow the variables",
        ));
    }
    notes
}

/// Returns a note if glibc serves the heap.
fn libc_note(run: &Run, look: &Look, engine: Engine) -> Option<Note> {
    if engine != Engine::Libc {
        return None;
    }
    Some(match (look.is_static(), run.engine) {
        (true, Some(HeapEngine::Arena)) => Note::warning(format!(
            "--heap-engine=arena has no effect: {STATIC}; {KEPT}"
        )),
        (true, _) => Note::info(format!("{KEPT}: {STATIC}")),
        (false, _) => Note::info(format!("{KEPT} (--heap-engine=libc)")),
    })
}

/// Returns the requested segments that stay on base pages because a program is static: the
/// started one or the one behind a wrapper.
fn static_shortfall(asked: Wants, look: &Look, engine: Engine) -> Option<Shortfall> {
    let wrapped = look.wrapped.as_ref();
    let wrapped = wrapped.filter(|wrapped| wrapped.image == Image::Static && !look.is_static());
    if wrapped.is_none() && !look.is_static() {
        return None;
    }
    let heap = asked.heap.is_some() && engine != Engine::Libc;
    let all = [
        (heap, Subject::HEAP),
        (asked.shm.is_some(), Subject::SHM),
        (asked.anon.is_some(), Subject::ANON),
        (asked.stack.is_some(), Subject::STACK),
        (asked.data.is_some(), Subject::DATA),
    ];
    let all = all.into_iter().filter(|(is_requested, _)| *is_requested);
    let subject = all.fold(Subject::NONE, |sum, (_, one)| sum | one);
    if subject.is_none() {
        return None;
    }
    let (fact, cure) = match wrapped {
        Some(wrapped) => {
            let program = wrapped.program.display();
            let fact = format!("{program} is static, so no library can be added to it");
            (fact, format!("start hugectl right before {program}"))
        }
        None if heap => {
            let fact = format!("{STATIC}, and it has no glibc of 2.35 or later to configure");
            (fact, BY_PID.to_owned())
        }
        None => (STATIC.to_owned(), BY_PID.to_owned()),
    };
    let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
    let short =
        Shortfall::new(subject, fact).consequence_first(format!("{names} {stay} on base pages"));
    Some(short.advise(cure))
}

/// Describes the program, for `-v` and `--explain`.
pub(crate) fn describe(target: &Target) -> String {
    let kind = match &target.image {
        Image::Dynamic(libc) => format!("dynamic, with {libc}"),
        Image::Static => "static".to_owned(),
        Image::Foreign(ident) => format!("for {ident}"),
        Image::Unknown(why) => format!("of an unknown kind ({why})"),
    };
    let (path, program) = (target.path.display(), target.program.display());
    match target.path == target.program {
        true => format!("{path} is {kind}"),
        false => format!("{path} is run by {program}, which is {kind}"),
    }
}

#[cfg(test)]
mod tests;
