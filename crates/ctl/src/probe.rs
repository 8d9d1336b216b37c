//! What the plan depends on: the target, the library, the kernel's state.

pub(crate) mod allocator;
pub mod auto;
pub mod bundle;
pub mod command_line;
pub mod core_dump;
pub mod coverage;
pub(crate) mod dynamic_loader;
pub mod heap_engine;
pub mod kernel;
pub mod library;
mod report_file;
pub mod surroundings;
pub mod target;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::{self, Elfmap, Fallback, Pages, Settings};
use hugetools_elf::{Elf, Ident};
use hugetools_model::{FileError, KPath, Root};

use crate::caller::Caller;
use crate::probe::bundle::Bundle;
use crate::probe::command_line::known_programs::{self, Known};
use crate::probe::command_line::starter::{self, Start};
use crate::probe::command_line::{names, wrappers};
use crate::probe::core_dump::CoreDump;
use crate::probe::coverage::alignment::Parts;
use crate::probe::dynamic_loader::Loader;
use crate::probe::dynamic_loader::glibc_tunables;
use crate::probe::dynamic_loader::ld_preload::{self, OtherMalloc};
use crate::probe::heap_engine::{Decision, Engine, Look, Means};
use crate::probe::kernel::{Kernel, Wants, check_size};
use crate::probe::library::Found;
use crate::probe::surroundings::{Scene, Surroundings};
use crate::probe::target::{Image, Libc, Opened};
use crate::request::thp_policy::ThpPolicy;
use crate::request::{Library, Preload, ReportTo, Run, verbosity};
use crate::say::failure::Failure;
use crate::say::messages::Outlet;
use crate::say::shortfall::Shortfall;

/// What was found: all that the plan depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// How much is said, by the environment and the options.
    pub verbosity: u8,
    /// What is asked for, by option or by inherited variable.
    pub asked: Wants,
    /// What of it can be served for this target.
    pub served: Wants,
    /// What is asked for the program's segments, by option or by inherited
    /// variable.
    pub elfmap: Elfmap,
    /// What of these segments can be on huge pages.
    pub parts: Parts,
    /// The target.
    pub look: Look,
    /// How the request can be met for it.
    pub decision: Decision,
    /// The library, where one is to be preloaded.
    pub library: Option<Found>,
    /// The name of the library, where that is the copy inside hugectl.
    pub library_inside: Option<&'static str>,
    /// Whether the file is on disk.
    pub library_is_there: bool,
    /// What goes in front of `LD_LIBRARY_PATH`.
    pub library_dir: Option<PathBuf>,
    /// Entries of ours in the caller's `LD_PRELOAD`.
    pub ours: Vec<Vec<u8>>,
    /// Libraries in it whose `malloc` ours replaces.
    pub(crate) other_mallocs: Vec<OtherMalloc>,
    /// The kernel's state.
    pub kernel: Kernel,
    /// What a core dump has, where a pool serves any of it.
    pub core_dump: Option<CoreDump>,
    /// What else was looked at, where nothing starts.
    pub surroundings: Surroundings,
    /// What is to be said of a starter that drops the environment.
    pub starter: Option<Shortfall>,
    /// Names of `--only` that no program has, as far as can be seen.
    pub unknown_names: Vec<String>,
    /// The names of the programs that huge pages are for, `None` for all.
    pub only: Option<OsString>,
    /// The file of the report.
    pub report: Option<PathBuf>,
    /// What comes short of the word of `--thp-policy`.
    pub policy_short: Option<String>,
    /// The value of `HUGETLB_MESSAGES`.
    pub messages: Option<OsString>,
}

/// What is asked for, by option or by inherited variable.
struct Asked {
    verbosity: u8,
    wants: Wants,
    elfmap: Elfmap,
    /// Whether libraries' text is meant, too.
    libraries: bool,
    /// The names of the programs that it is for.
    only: Option<OsString>,
}

impl Asked {
    fn find(run: &Run, caller: &Caller) -> Asked {
        // Whoever is left out: the library is for all that the program starts, too.
        let get = |name: &str| match name {
            env::RESTRICT_EXE | env::NO_INHERIT => None,
            name => caller.var(name).map(OsStr::as_bytes),
        };
        let inherited = Settings::read(get, b"", caller.pid);
        let verbosity = verbosity(inherited.verbosity, &run.steps);
        let elfmap = run.segments.over(&inherited);
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
            verbosity,
            wants,
            elfmap,
            libraries: !elfmap.off && (run.segments.libraries || inherited.text_libs),
            only: names::in_force(run, caller),
        }
    }
}

/// Finds out what the plan depends on, and changes nothing. `outlet` is where messages go,
/// once that is open.
///
/// # Errors
/// When the program cannot be run, or something was asked that cannot be had.
pub fn probe(
    run: &Run,
    caller: &Caller,
    root: &Root,
    bundle: Option<&Bundle<'_>>,
    outlet: Option<&Outlet>,
) -> Result<Findings, Failure> {
    let given = Asked::find(run, caller);
    let (wants, elfmap) = (given.wants, given.elfmap);
    check_sizes(root, run)?;
    let report = report_to(run)?;
    let policy_short = run.thp_policy.map(|policy| policy.short(root, caller));
    let policy_short = policy_short.transpose()?.flatten();
    let look = look(run, wants, caller, root)?;
    let asked = coverage::with_marks(wants, elfmap, &look);
    let decision = heap_engine::decide(asked, Means::of(run), &look);
    let (library, library_inside) = library(run, &decision, caller, bundle)?;
    let ours = ours(caller, library.as_ref());
    let preloaded = matches!(library, Some(Found::At(_)));
    let own = |error: FileError| Failure::Own(error.to_string());
    let other_mallocs = other_mallocs(run, caller, root, &decision, &ours).map_err(own)?;
    let served = served(asked, &decision, preloaded, run.preload, &look);
    let search = coverage::Search {
        asked,
        libraries: given.libraries,
        caller,
    };
    let (parts, kernel) = segments_and_kernel(&search, run, root, served, &look).map_err(own)?;
    let scene = |target| {
        surroundings::look(&Scene {
            needs: parts.needs(target, served),
            known: look.known.as_ref(),
            kernel: &kernel,
            run,
            caller,
            root,
            served,
        })
    };
    let surroundings = look.target.as_ref().filter(|_| run.explain).map(scene);
    let surroundings = surroundings.transpose().map_err(own)?;
    Ok(Findings {
        verbosity: given.verbosity,
        surroundings: surroundings.unwrap_or_default(),
        starter: lost_on_the_way(run, caller, library.as_ref()),
        unknown_names: names::unknown(run, look.target.as_ref(), caller),
        elfmap,
        asked,
        served,
        core_dump: CoreDump::read(root, served),
        kernel,
        parts,
        look,
        decision,
        library_dir: library_dir(run, library.as_ref())?,
        library_inside,
        library_is_there: matches!(&library, Some(Found::At(path)) if path.exists()),
        library,
        ours,
        other_mallocs,
        only: given.only,
        report,
        policy_short,
        messages: messages(run, outlet),
    })
}

/// The library, and its name where it is the copy inside hugectl.
fn library(
    run: &Run,
    decision: &Decision,
    caller: &Caller,
    bundle: Option<&Bundle<'_>>,
) -> Result<(Option<Found>, Option<&'static str>), Failure> {
    let Some(name) = decision.library else {
        return Ok((None, None));
    };
    Ok(match find_library(run, name, caller)? {
        Some(found) => (Some(found), None),
        None => (Some(library::inside(caller, name, bundle)), Some(name)),
    })
}

/// What of the program's segments can be on huge pages, and the kernel's state.
fn segments_and_kernel(
    search: &coverage::Search<'_>,
    run: &Run,
    root: &Root,
    served: Wants,
    look: &Look,
) -> Result<(Parts, Kernel), FileError> {
    let mut parts = search.measure(root, look)?;
    let kernel = read_kernel(run, root, search.caller, parts.possible(served), look)?;
    search.text_files(root, look, &kernel, &mut parts)?;
    Ok((parts, kernel))
}

/// The kernel's state as the program will have it.
fn read_kernel(
    run: &Run,
    root: &Root,
    caller: &Caller,
    wants: Wants,
    look: &Look,
) -> Result<Kernel, FileError> {
    let mut kernel = Kernel::read(root, wants, caller)?;
    kernel.thp_banned = is_banned(run, look);
    if let Some(policy) = run.thp_policy.filter(|_| root.is_live()) {
        kernel.thp_disabled = policy == ThpPolicy::Never;
    }
    Ok(kernel)
}

/// Whether the program turns transparent huge pages off for itself, where all is explained:
/// at a start the library says it when that happens.
fn is_banned(run: &Run, look: &Look) -> bool {
    let bans = look.known.as_ref().is_some_and(|entry| entry.bans);
    run.explain && bans && run.thp_policy != Some(ThpPolicy::Always)
}

/// Where messages are to go: by the place that is open for them, else by its name.
fn messages(run: &Run, outlet: Option<&Outlet>) -> Option<OsString> {
    let to = run.messages.as_ref()?;
    Some(outlet.map_or_else(|| to.value(), |outlet| outlet.value().to_owned()))
}

/// The report's file, if it can be written.
fn report_to(run: &Run) -> Result<Option<PathBuf>, Failure> {
    match &run.report {
        Some(ReportTo::File(file)) => report_file::check(file).map(Some),
        _ => Ok(None),
    }
}

/// What is to be said of what the command line loses before it comes to a program.
fn lost_on_the_way(run: &Run, caller: &Caller, library: Option<&Found>) -> Option<Shortfall> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let lost = || match library {
        Some(Found::At(path)) => starter::lost_in_new_root(&run.command, &is_program, path),
        _ => None,
    };
    let preloaded = match library {
        Some(Found::At(path)) => Some(path.as_path()),
        _ => None,
    };
    starter::warning(&Start::new(run, caller, &is_program, preloaded)).or_else(lost)
}

/// Entries of ours in the caller's `LD_PRELOAD`.
fn ours(caller: &Caller, library: Option<&Found>) -> Vec<Vec<u8>> {
    match (caller.var("LD_PRELOAD"), library) {
        (Some(list), Some(_)) => ld_preload::ours(list, &loader(caller)),
        _ => Vec::new(),
    }
}

/// Libraries in the caller's `LD_PRELOAD` whose `malloc` ours replaces. heaptrack's removes
/// itself from the environment of the process that it is in.
fn other_mallocs(
    run: &Run,
    caller: &Caller,
    root: &Root,
    decision: &Decision,
    ours: &[Vec<u8>],
) -> Result<Vec<OtherMalloc>, FileError> {
    if decision.engine != Engine::Arena {
        return Ok(Vec::new());
    }
    // A dry run may be for another caller, as that of --emit is.
    let environ = match root.is_live() && !run.dry_run {
        true => root.read_opt(&KPath::from("/proc/self/environ"))?,
        false => None,
    };
    let at_start = environ.as_deref().and_then(ld_preload::in_environ);
    let list = caller.var("LD_PRELOAD").or(at_start).unwrap_or_default();
    Ok(ld_preload::other_mallocs(list, ours, &loader(caller)))
}

/// What of the request can be served: where nothing is, nothing falls short.
pub(crate) fn served(
    asked: Wants,
    decision: &Decision,
    preloaded: bool,
    preload: Preload,
    look: &Look,
) -> Wants {
    let target = look.target.as_ref();
    let is_static = target.is_some_and(|target| target.image == Image::Static);
    let linked = preload == Preload::Never;
    Wants {
        heap: match decision.engine {
            Engine::Arena => asked.heap.filter(|_| preloaded),
            // By itself glibc takes transparent huge pages: with those of a
            // pool, a child that writes to its copy may be killed.
            Engine::Libc => asked.heap.map(|pages| match pages {
                Pages::Size(size) => Pages::Size(size),
                Pages::Default | Pages::Thp => Pages::Thp,
            }),
            Engine::Linked | Engine::None => None,
        },
        shm: asked.shm.filter(|_| (preloaded || linked) && !is_static),
        // No part of a pool's page could be unmapped, protected or dropped.
        anon: asked
            .anon
            .filter(|_| (preloaded || linked) && !is_static)
            .map(|_| Pages::Thp),
        stack: asked
            .stack
            .filter(|_| (preloaded || linked) && !is_static)
            .map(|_| Pages::Thp),
        text: asked.text.filter(|_| (preloaded || linked) && !is_static),
        data: asked.data.filter(|_| (preloaded || linked) && !is_static),
        // And nothing but base pages after those of a pool.
        fallback: match decision.engine {
            Engine::Libc if is_static => Fallback::Base,
            _ => asked.fallback,
        },
        ..asked
    }
}

fn check_sizes(root: &Root, run: &Run) -> Result<(), Failure> {
    let segments = &run.segments;
    let all = [
        ("--text", segments.text),
        ("--data", segments.data),
        ("--bss", segments.bss),
        ("--heap", run.heap),
        ("--shm", run.shm),
        ("--anon", run.anon),
        ("--stack", run.stack),
    ];
    all.into_iter()
        .try_for_each(|(option, pages)| check_size(root, option, pages))
}

fn loader(caller: &Caller) -> Loader<'_> {
    Loader::new(Ident::native(), Libc::Glibc, caller.var("LD_LIBRARY_PATH"))
}

fn look(run: &Run, wants: Wants, caller: &Caller, root: &Root) -> Result<Look, Failure> {
    let Some(name) = run.command.first() else {
        return Ok(Look::default());
    };
    let opened =
        target::open(name, caller).map_err(|failure| names::meant(failure, run, caller))?;
    let mut look = match wants.heap {
        Some(_) => look_for_heap(run, &opened, caller, root),
        None if run.explain || run.chosen.is_some() || wants.anon.is_some() => {
            known(run, &opened, caller, root)
        }
        None => Look::default(),
    };
    look.target = Some(opened.target);
    look.behind = wrappers::wrappers(run, caller);
    Ok(look)
}

/// What is known of the command line.
fn known(run: &Run, opened: &Opened, caller: &Caller, root: &Root) -> Look {
    let known = Known::find(&run.command, opened, caller, root);
    Look {
        known: known.program,
        beyond: known.beyond,
        faults: known.faults,
        ..Look::default()
    }
}

/// What matters for a heap.
fn look_for_heap(run: &Run, opened: &Opened, caller: &Caller, root: &Root) -> Look {
    let mut look = known(run, opened, caller, root);
    let target = &opened.target;
    match (&target.image, &opened.elf) {
        (Image::Dynamic(libc), Some(elf)) => {
            let found = allocator::find(&allocator::Subject {
                program: &target.program,
                elf,
                libc: *libc,
                library_path: caller.var("LD_LIBRARY_PATH"),
            });
            look.own = found.own;
            look.beyond = look.beyond.or_else(|| match &look.own {
                Some(own) => known_programs::own_switch(own, caller),
                None => known_programs::of_new(&found.new?, caller, root),
            });
            look.tunable = match run.wants_libc() {
                true => loader_knows_tunable(&target.program, elf),
                false => Some(false),
            };
        }
        (Image::Static, _) => {
            look.tunable = glibc_tunables::is_known_to(&target.program).ok();
        }
        _ => {}
    }
    look
}

/// Whether the glibc of a dynamic program knows the tunable: its loader reads
/// them. `None` where that cannot be read.
fn loader_knows_tunable(program: &Path, elf: &Elf<File>) -> Option<bool> {
    let loader = elf.interpreter();
    let loader = loader.map_or(program, |loader| Path::new(OsStr::from_bytes(loader)));
    glibc_tunables::is_known_to(loader).ok()
}

/// What goes in front of `LD_LIBRARY_PATH`.
fn library_dir(run: &Run, library: Option<&Found>) -> Result<Option<PathBuf>, Failure> {
    Ok(match (&run.library, library) {
        (Library::At(_), Some(Found::At(path))) => path.parent().map(Path::to_owned),
        (Library::At(dir), _) => Some(library::search_dir(dir)?),
        _ => None,
    })
}

/// Looks for a library on disk; `None` where the one inside hugectl is meant.
fn find_library(run: &Run, name: &str, caller: &Caller) -> Result<Option<Found>, Failure> {
    match &run.library {
        Library::At(dir) => Ok(Some(Found::At(library::below(dir, name)?))),
        Library::Auto => Ok(library::near(caller, name).map(Found::At)),
        Library::ByName => {
            let found = loader(caller).find_preload(name.as_bytes());
            Ok(Some(match found {
                Some((path, _)) if library::is_ours(&path) => Found::At(PathBuf::from(name)),
                Some((path, _)) => Found::Nowhere(format!(
                    "the {name} that the loader finds, {}, is not ours",
                    path.display()
                )),
                None => Found::Nowhere(format!("the loader finds no {name}")),
            }))
        }
    }
}
