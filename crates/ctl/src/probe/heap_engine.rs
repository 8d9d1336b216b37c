//! How the request can be met for this target: which library goes with it,
//! and what serves its heap.

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};

use crate::probe::allocator::Own;
use crate::probe::command_line::known_programs::Beyond;
use crate::probe::command_line::known_programs::entry::Entry;
use crate::probe::kernel::Wants;
use crate::probe::target::{Image, Libc, Target};
use crate::request::{HeapEngine, Preload, Run};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

use self::unreachable::unreachable;

mod unreachable;

/// What serves the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Our library's own `malloc`.
    Arena,
    /// The C library's `malloc`, told by a tunable.
    Libc,
    /// What the program is linked with; only variables are set.
    Linked,
    /// Nothing of ours.
    #[default]
    None,
}

/// What was found out about the target, as far as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// The target; `None` in a dry run without a program.
    pub target: Option<Target>,
    /// The program that it leads to, where it only changes how that one runs.
    pub behind: Option<Target>,
    /// Its own allocator, where a heap is asked for.
    pub own: Option<Own>,
    /// Whether its glibc knows the tunable, where that matters; `None` where the file
    /// that says so cannot be read, as of a program that may only be executed.
    pub tunable: Option<bool>,
    /// What is to be said of memory that is not malloc's, where a heap is asked
    /// for.
    pub beyond: Option<Beyond>,
    /// What is known of the program, where a heap is asked for or all is explained.
    pub(crate) known: Option<Entry>,
    /// What of the tables of known programs cannot be used.
    pub(crate) faults: Vec<String>,
}

const STATIC: &str = "the program is static, so no library can be added to it";

const BY_PID: &str = "hugectl --pid reaches it once it runs";

const HEAP_STAYS: &str = "the heap stays on base pages";

const KEPT: &str = "the heap stays with the program's own glibc, which GLIBC_TUNABLES tells";

/// How the request can be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What serves the heap.
    pub engine: Engine,
    /// The library to preload.
    pub library: Option<&'static str>,
    /// What there is to say about it.
    pub notes: Vec<Note>,
}

/// What the command line says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// Whether the library is preloaded.
    pub preload: Preload,
    /// Who is to serve the heap, where that is said.
    pub engine: Option<HeapEngine>,
    /// What nobody has asked for but `--auto`.
    pub(crate) chosen: Subject,
}

impl Means {
    /// Those of a command line.
    pub fn of(run: &Run) -> Means {
        Means {
            preload: run.preload,
            engine: run.engine,
            chosen: match &run.chosen {
                Some(chosen) => chosen.subject,
                None => Subject::NONE,
            },
        }
    }

    fn wants_libc(self) -> bool {
        self.engine == Some(HeapEngine::Libc)
    }
}

/// Decides. `asked` is what is asked for, by option or variable.
pub fn decide(asked: Wants, means: Means, look: &Look) -> Decision {
    let preload = means.preload;
    let mut decision = Decision {
        engine: Engine::None,
        library: None,
        notes: Vec::new(),
    };
    decision.notes.extend(look.faults.iter().map(Note::warning));
    let forced = preload == Preload::Always;
    let heap = asked.heap.is_some();
    let image = look.target.as_ref().map(|target| &target.image);
    let mut programs = look.target.iter().chain(&look.behind);
    if let Some(why) = programs.find_map(unreachable).filter(|_| !forced) {
        decision.fall_short(why.outcome("nothing can be put on huge pages"));
        return decision;
    }
    let is_static = image == Some(&Image::Static);
    decision.engine = match (heap, &look.own) {
        (false, _) => Engine::None,
        (true, _) if is_static && look.tunable == Some(true) => Engine::Libc,
        (true, _) if is_static => Engine::None,
        (true, Some(_)) if !forced || means.wants_libc() => Engine::None,
        (true, _) if means.wants_libc() => decision.ask_libc(image, look.tunable),
        (true, _) if preload == Preload::Never => Engine::Linked,
        (true, _) => Engine::Arena,
    };
    decision.say_means(means, heap);
    if is_static {
        decision.say_static(asked, means, look.tunable);
    } else if let Some(behind) = &look.behind {
        decision.say_static_behind(asked, behind);
    }
    if !forced || means.wants_libc() {
        decision.say_own(asked, look);
    }
    decision.say_beyond(asked, means, look, is_static);
    if preload != Preload::Never {
        // Children of a static program may still be served.
        let children = is_static && !means.wants_libc();
        let with_heap = heap && (decision.engine == Engine::Arena || children);
        decision.library = Some(if with_heap { HEAP_LIBRARY } else { LIBRARY });
    } else if asked.are_any() {
        decision.notes.push(Note::info(
            "--no-preload: only programs linked with libhugetlbfs follow the variables",
        ));
    }
    decision
}

impl Decision {
    fn warn(&mut self, text: String) {
        self.notes.push(Note::warning(text));
    }

    fn fall_short(&mut self, short: Shortfall) {
        self.notes.push(Note::short(Level::Warning, short));
    }

    /// Says that the program's own allocator keeps its heap.
    fn say_own(&mut self, asked: Wants, look: &Look) {
        let Some(own) = look.own.as_ref().filter(|_| asked.heap.is_some()) else {
            return;
        };
        let short = Shortfall::new(Subject::HEAP, own.fact()).outcome("the heap stays as it is");
        // Where more is known of its memory, that is said by itself.
        let by_anon = own.is_reached_by_anon() && asked.anon.is_none() && look.beyond.is_none();
        self.fall_short(match by_anon {
            true => short.advise("--anon reaches it"),
            false => short,
        });
    }

    /// Says which memory the options do not reach. What `--auto` chose does what it can, so
    /// that is no shortfall of it.
    fn say_beyond(&mut self, asked: Wants, means: Means, look: &Look, is_static: bool) {
        // Of a static program it is said that it is one.
        let (heap, anon) = (asked.heap.is_some(), asked.anon.is_some() && !is_static);
        let beyond = look.beyond.as_ref();
        if let Some(short) = beyond.and_then(|beyond| beyond.shortfall(heap, anon)) {
            match short.subject | means.chosen == means.chosen {
                true => self.notes.push(Note::info(short.to_string())),
                false => self.fall_short(short),
            }
        }
    }

    /// Leaves the heap to the program's libc, if that can be told.
    fn ask_libc(&mut self, image: Option<&Image>, tunable: Option<bool>) -> Engine {
        let why = match image {
            // Without a program nothing is known against it.
            None | Some(Image::Unknown(_)) => None,
            Some(Image::Dynamic(Libc::Glibc)) => match tunable {
                Some(true) => None,
                Some(false) => Some("the program's glibc is older than 2.35".to_owned()),
                None => Some("which one the program has cannot be read".to_owned()),
            },
            Some(Image::Dynamic(Libc::Musl)) => Some("the program's C library is musl".to_owned()),
            Some(_) => Some("the program's C library is not known".to_owned()),
        };
        let Some(why) = why else {
            self.notes
                .push(Note::info(format!("{KEPT} (--heap-engine=libc)")));
            return Engine::Libc;
        };
        let fact = format!("--heap-engine=libc needs glibc 2.35 or later, and {why}");
        self.fall_short(Shortfall::new(Subject::HEAP, fact).outcome(HEAP_STAYS));
        Engine::None
    }

    fn say_means(&mut self, means: Means, heap: bool) {
        if means.engine.is_some() && !heap {
            self.warn("--heap-engine does nothing without --heap".to_owned());
        }
    }

    fn say_static(&mut self, asked: Wants, means: Means, tunable: Option<bool>) {
        match (asked.heap.is_some(), tunable) {
            (true, Some(true)) if means.engine == Some(HeapEngine::Arena) => self.warn(format!(
                "--heap-engine=arena cannot be had: {STATIC}; {KEPT}"
            )),
            (true, Some(true)) => self.notes.push(Note::info(format!("{KEPT}: {STATIC}"))),
            (true, tunable) => {
                let glibc = match tunable {
                    None => "whether its glibc could be told cannot be read",
                    _ => "it has no glibc of 2.35 or later, which could be told",
                };
                let fact = format!("{STATIC}, and {glibc}");
                let short = Shortfall::new(Subject::HEAP, fact).outcome(HEAP_STAYS);
                self.fall_short(short.advise(BY_PID));
            }
            (false, _) => {}
        }
        let rows = [
            (asked.shm, Subject::SHM, "shared memory stays as it is"),
            (
                asked.anon,
                Subject::ANON,
                "private mappings stay as they are",
            ),
            (asked.stack, Subject::STACK, "stacks stay as they are"),
            (asked.data, Subject::DATA, "data and bss stay on base pages"),
        ];
        for (_, subject, stay) in rows.into_iter().filter(|(asked, ..)| asked.is_some()) {
            let short = Shortfall::new(subject, STATIC).outcome(stay);
            let by_pid = subject == Subject::ANON;
            self.fall_short(if by_pid { short.advise(BY_PID) } else { short });
        }
    }
}

impl Decision {
    /// What a wrapper leads to takes no library that the wrapper takes.
    fn say_static_behind(&mut self, asked: Wants, behind: &Target) {
        let of = |is_asked: bool, subject| if is_asked { subject } else { Subject::NONE };
        let subject = of(asked.heap.is_some(), Subject::HEAP)
            | of(asked.shm.is_some(), Subject::SHM)
            | of(asked.anon.is_some(), Subject::ANON)
            | of(asked.stack.is_some(), Subject::STACK)
            | of(asked.data.is_some(), Subject::DATA);
        if behind.image != Image::Static || subject.is_none() {
            return;
        }
        let program = behind.program.display();
        let fact = format!("{program} is static, so no library can be added to it");
        let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
        let short = Shortfall::new(subject, fact).outcome(format!("{names} {stay} as before"));
        self.fall_short(short.advise(format!("start hugectl right before {program}")));
    }
}

/// What `-v` says about the target.
pub fn describe(target: &Target) -> Note {
    let kind = match &target.image {
        Image::Dynamic(Libc::Other) => "dynamic, with an unknown C library".to_owned(),
        Image::Dynamic(libc) => format!("dynamic, with {libc}"),
        Image::Static => "static".to_owned(),
        Image::Foreign(ident) => format!("for {ident}"),
        Image::Unknown(why) => format!("of an unknown kind ({why})"),
    };
    let (path, program) = (target.path.display(), target.program.display());
    Note::info(match target.path == target.program {
        true => format!("{path} is {kind}"),
        false => format!("{path} is run by {program}, which is {kind}"),
    })
}

#[cfg(test)]
mod tests;
