//! Collects the facts for the plan: program, library, kernel state. Changes nothing.

pub(crate) mod allocator;
mod auto;
pub mod bundle;
pub(crate) mod command_line;
pub(crate) mod coverage;
pub(crate) mod dynamic_loader;
pub(crate) mod heap_engine;
pub(crate) mod kernel;
pub(crate) mod library;
mod report_file;
pub(crate) mod target;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::{self, Elfmap, Fallback, Pages, Settings};
use hugetools_model::hugetlb::node;
use hugetools_model::{FileError, Root};

use crate::args::TERMINAL;
use crate::caller::{Caller, value};
use crate::probe::bundle::Bundle;
use crate::probe::command_line::known_programs;
use crate::probe::command_line::{size_hint, starters, wrappers};
use crate::probe::coverage::alignment::Parts;
use crate::probe::dynamic_loader::glibc_tunables;
use crate::probe::heap_engine::{Decision, Engine, Look};
use crate::probe::kernel::{Kernel, Wants, check_size};
use crate::probe::library::Found;
use crate::probe::target::{Image, Opened};
use crate::request::thp_policy::ThpPolicy;
use crate::request::{Library, Preload, Run};
use crate::say::failure::Failure;
use crate::say::messages::Outlet;
use crate::say::shortfall::Shortfall;

/// The facts for the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// The verbosity from environment and options.
    pub verbosity: u8,
    /// The request of options, inherited variables, and marks in the program's file.
    pub(crate) asked: Wants,
    /// The part of the request that can be served for this program.
    pub(crate) served: Wants,
    /// The request for the program's segments, without marks in its file.
    pub(crate) elfmap: Elfmap,
    /// How much of these segments can be on huge pages.
    pub(crate) parts: Parts,
    pub(crate) look: Look,
    pub(crate) decision: Decision,
    pub(crate) library: Option<Found>,
    /// The directory to put in front of `LD_LIBRARY_PATH`.
    pub(crate) library_dir: Option<PathBuf>,
    pub(crate) kernel: Kernel,
    /// A warning about a starter that drops the environment.
    pub(crate) starter: Option<Shortfall>,
    /// The programs that get huge pages, separated by colons; `None` for all.
    pub(crate) only: Option<OsString>,
    /// The file that `--report` names.
    pub(crate) report: Option<PathBuf>,
    /// Whether `--next-touch` has no second node to move memory to.
    pub(crate) is_one_node: bool,
    /// How the system's THP setting limits `--thp-policy`.
    pub(crate) policy_short: Option<String>,
    /// Advice to relink the program with aligned segments.
    pub(crate) relink: String,
    pub(crate) messages: Option<OsString>,
}

/// Returns advice to relink with ld.hugetlbfs, which is installed in hugectl's prefix.
fn relink(caller: &Caller) -> String {
    let prefix = caller.exe.as_deref().and_then(|exe| exe.parent()?.parent());
    let prefix = prefix.unwrap_or(Path::new("/usr/local")).display();
    format!("link it with gcc -B{prefix}/share/libhugetlbfs -Wl,--hugetlbfs-align")
}

/// The request of options and inherited variables.
struct Asked {
    verbosity: u8,
    wants: Wants,
    elfmap: Elfmap,
    /// `--text-libs`
    libraries: bool,
}

impl Asked {
    fn find(run: &Run, caller: &Caller) -> Asked {
        // These two may exclude this process, which would hide the request. The plan heeds them.
        let entries = caller.settings();
        let get = |name: &str| match name {
            env::RESTRICT_EXE | env::NO_INHERIT => None,
            name => {
                let found = entries.iter().find_map(|entry| value(entry, name));
                found.map(OsStr::as_bytes)
            }
        };
        let inherited = Settings::read(get, b"", caller.pid);
        let elfmap = run.segments.elfmap_over(&inherited);
        let wants = Wants {
            heap: run.heap.or(inherited.heap),
            shm: run.shm.or(inherited.shm),
            anon: run.anon.or(inherited.anon),
            stack: run.stack.or(inherited.stack),
            text: elfmap.text,
            data: elfmap.data,
            fallback: run.fallback.unwrap_or(inherited.fallback),
            require: run.require,
            limit: run.limit.or(inherited.limit),
            thorough: run.explain,
        };
        Asked {
            verbosity: run.verbosity.over(inherited.verbosity),
            wants,
            elfmap,
            libraries: !elfmap.off && (run.segments.libraries || inherited.text_libs),
        }
    }
}

/// Collects the facts. With `--auto`, sets the options that suit the program. `outlet` is the
/// open destination of messages.
///
/// # Errors
/// The program cannot be run, or the request is impossible.
pub fn probe(
    run: &mut Run,
    caller: &Caller,
    root: &Root,
    bundle: Option<&Bundle<'_>>,
    outlet: Option<&Outlet>,
) -> Result<Findings, Failure> {
    for (option, pages) in run.asked_pages() {
        check_size(root, option, pages)?;
    }
    let mut given = Asked::find(run, caller);
    let look = look(run, &given, caller, root)?;
    if run.auto && look.target.is_some() {
        auto::choose(run, &given.wants, &look);
        given = Asked::find(run, caller);
    }
    let bans_thp = look.known.is_some_and(|known| known.bans_thp);
    let policy_short = run
        .thp_policy
        .and_then(|policy| policy.short(root, caller, bans_thp));
    let asked = coverage::with_marks(given.wants, given.elfmap, &look);
    let decision = heap_engine::decide(asked, run, &look);
    let library = library(run, &decision, caller, bundle)?;
    let preloaded = library.as_ref().is_some_and(|found| found.path().is_some());
    let served = served(asked, &decision, preloaded, run.preload, &look);
    let target = coverage::target(asked, &look);
    let parts = target.map(|target| coverage::measure(root, asked, target));
    let mut parts = parts.transpose()?.unwrap_or_default();
    let wants = parts.possible(served);
    let kernel = read_kernel(run, root, caller, wants, &look)?;
    let target = target.filter(|target| coverage::uses_own_pages(target, asked, &kernel));
    if let Some(target) = target {
        let libraries = given.libraries;
        coverage::find_text_files(root, caller, target, libraries, (&kernel, &mut parts))?;
    }
    let inherited_only = || caller.var(env::RESTRICT_EXE).map(OsStr::to_owned);
    Ok(Findings {
        relink: relink(caller),
        verbosity: given.verbosity,
        asked,
        served,
        elfmap: given.elfmap,
        parts,
        library_dir: library_dir(run, library.as_ref())?,
        library,
        kernel,
        starter: starters::warning(run, caller),
        only: run.only.clone().or_else(inherited_only),
        report: match &run.report {
            Some(file) if file.as_os_str() != TERMINAL => {
                Some(report_file::check(file, !run.command.is_empty())?)
            }
            _ => None,
        },
        is_one_node: run.next_touch.is_some() && node::read(root)?.len() < 2,
        policy_short,
        messages: run
            .messages
            .as_ref()
            .map(|to| outlet.map_or_else(|| to.value(), |outlet| outlet.value().to_owned())),
        look,
        decision,
    })
}

/// Examines the program, and the program behind a wrapper.
fn look(run: &Run, asked: &Asked, caller: &Caller, root: &Root) -> Result<Look, Failure> {
    let Some(name) = run.command.first() else {
        return Ok(Look::default());
    };
    let opened = target::open(name, caller);
    let opened = opened.map_err(|failure| size_hint::add(failure, run))?;
    let wrapped = wrappers::open_wrapped(&run.command, caller);
    let mut look = Look::default();
    let (heap, anon) = (asked.wants.heap.is_some(), asked.wants.anon.is_some());
    if heap || anon || run.auto || run.explain {
        let innermost = wrapped.as_ref().unwrap_or(&opened);
        let all = [innermost, &opened].into_iter();
        let mut known = all.filter_map(known_programs::find);
        look.known = known.next();
        let known = look.known;
        look.has_own_memory =
            known.is_some_and(|known| known.has_own_memory(&run.command, caller, root));
    }
    if heap || run.auto {
        look_at_malloc(&mut look, run, &opened);
    }
    look.target = Some(opened.target);
    look.wrapped = wrapped.map(|opened| opened.target);
    Ok(look)
}

/// Finds the program's own allocator, and whether its glibc knows `glibc.malloc.hugetlb`.
fn look_at_malloc(look: &mut Look, run: &Run, opened: &Opened) {
    let program = &opened.target.program;
    match (&opened.target.image, &opened.elf) {
        (Image::Dynamic(_), Some(elf)) => {
            look.own = allocator::find(elf);
            let loader = elf
                .interpreter()
                .map(|path| Path::new(OsStr::from_bytes(path)));
            let loader = loader.unwrap_or(program);
            look.tunable = run.wants_libc() && glibc_tunables::is_known_to(loader);
        }
        (Image::Static, _) => look.tunable = glibc_tunables::is_known_to(program),
        _ => {}
    }
}

fn library(
    run: &Run,
    decision: &Decision,
    caller: &Caller,
    bundle: Option<&Bundle<'_>>,
) -> Result<Option<Found>, Failure> {
    let Some(name) = decision.library else {
        return Ok(None);
    };
    Ok(Some(match &run.library {
        Library::At(dir) => Found::At(library::below(dir, name)?),
        Library::ByName => Found::At(name.into()),
        Library::Auto => match library::installed(caller, name) {
            Some(path) => Found::At(path),
            None => library::inside(caller, name, bundle, run.starts()),
        },
    }))
}

fn library_dir(run: &Run, library: Option<&Found>) -> Result<Option<PathBuf>, Failure> {
    Ok(match (&run.library, library) {
        (Library::At(_), Some(Found::At(path))) => path.parent().map(Path::to_owned),
        (Library::At(dir), _) => Some(library::search_dir(dir)?),
        _ => None,
    })
}

/// Reads the kernel's state as the program will have it.
fn read_kernel(
    run: &Run,
    root: &Root,
    caller: &Caller,
    wants: Wants,
    look: &Look,
) -> Result<Kernel, FileError> {
    let mut kernel = Kernel::read(root, wants, caller)?;
    // At a start the library reports that the program disables transparent huge pages.
    let bans = run.explain && look.known.is_some_and(|known| known.bans_thp);
    kernel.thp_banned = bans && run.thp_policy != Some(ThpPolicy::Always);
    if let Some(policy) = run.thp_policy.filter(|_| root.is_live()) {
        kernel.thp_disabled = policy == ThpPolicy::Never;
    }
    Ok(kernel)
}

/// Returns the part of the request that can be served.
pub(crate) fn served(
    asked: Wants,
    decision: &Decision,
    preloaded: bool,
    preload: Preload,
    look: &Look,
) -> Wants {
    let is_static = look.is_static();
    let is_in_program = (preloaded || preload == Preload::Never) && !is_static;
    let by_library = |pages: Option<Pages>| pages.filter(|_| is_in_program);
    Wants {
        heap: match decision.engine {
            Engine::Arena => asked.heap.filter(|_| preloaded),
            // By default glibc gets transparent huge pages: on pool pages, a write after a
            // fork may kill the child (SIGBUS).
            Engine::Libc => asked.heap.map(|pages| match pages {
                Pages::Size(size) => Pages::Size(size),
                Pages::Default | Pages::Thp => Pages::Thp,
            }),
            Engine::Linked | Engine::None => None,
        },
        shm: by_library(asked.shm),
        // Pool pages cannot be unmapped, protected or dropped in part.
        anon: by_library(asked.anon).map(|_| Pages::Thp),
        stack: by_library(asked.stack).map(|_| Pages::Thp),
        text: by_library(asked.text),
        data: by_library(asked.data),
        // A static program's glibc falls back from the pool to base pages.
        fallback: match decision.engine {
            Engine::Libc if is_static => Fallback::Base,
            _ => asked.fallback,
        },
        ..asked
    }
}
