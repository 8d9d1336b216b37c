//! The command line, validated without knowledge of the machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hugetools_contract::env::{Fallback, Limit, Pages, Require};
use hugetools_model::units::size::SizeError;
use hugetools_model::{Bytes, PageSize};

use crate::args::{self, Args, DEFAULT, Verbosity, given};
use crate::request::asked_segments::Segments;
use crate::request::thp_policy::ThpPolicy;
use crate::say::failure::Failure;
use crate::say::messages;
use crate::say::subject::Subject;

mod adopt;
pub(crate) mod asked_segments;
mod compare;
mod emit;
mod limits;
mod processes;
mod require;
pub mod thp_policy;

pub use adopt::Adopt;
pub use compare::Compare;
pub use emit::Emit;
pub(crate) use emit::EmitKind;
pub use processes::ProcessSelector;

/// The request.
#[derive(Debug, Clone)]
pub enum Request {
    /// Start a program, or predict the start.
    Run(Run),
    /// Show the huge pages of running processes.
    Status(Status),
    /// Move the memory of running processes to huge pages.
    Adopt(Adopt),
    /// Print settings for another starter.
    Emit(Emit),
    /// Run a program in several ways.
    Compare(Compare),
}

/// Start a program, or predict the start. An absent option is `None`, since an inherited variable
/// may replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub(crate) segments: Segments,
    /// `--thp-policy`
    pub thp_policy: Option<ThpPolicy>,
    /// `--heap` or `--thp`
    pub(crate) heap: Option<Pages>,
    pub(crate) engine: Option<HeapEngine>,
    pub(crate) shm: Option<Pages>,
    pub(crate) anon: Option<Pages>,
    pub(crate) anon_min: Option<Bytes>,
    pub(crate) stack: Option<Pages>,
    pub(crate) stack_depth: Option<Bytes>,
    pub(crate) kernel_fork: bool,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) limit: Option<Limit>,
    pub(crate) next_touch: Option<Bytes>,
    /// `--only`, separated by colons.
    pub(crate) only: Option<OsString>,
    pub(crate) no_inherit: bool,
    pub(crate) require: Require,
    /// `--report`: a file, or [`args::TERMINAL`].
    pub(crate) report: Option<PathBuf>,
    pub(crate) preload: Preload,
    pub(crate) library: Library,
    /// `--messages`
    pub messages: Option<messages::MessageDestination>,
    pub(crate) verbosity: Verbosity,
    /// `--dry-run`
    pub dry_run: bool,
    /// `--explain`
    pub explain: bool,
    /// `--json`
    pub json: bool,
    /// `--sysroot`
    pub sysroot: Option<PathBuf>,
    /// The program and its arguments; empty in a dry run of options alone.
    pub command: Vec<OsString>,
    /// The words before the program, as typed.
    pub(crate) options: Vec<OsString>,
    pub(crate) auto: bool,
    pub(crate) chosen: Option<AutoChoice>,
}

/// The choice of `--auto`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AutoChoice {
    /// The lines to print: the options and the reason, then a caveat.
    pub(crate) lines: Vec<String>,
    pub(crate) subject: Subject,
}

impl Run {
    /// Whether the program is started.
    pub fn starts(&self) -> bool {
        !self.dry_run && !self.explain
    }

    /// Returns the lines about the choice of `--auto`.
    pub fn chosen(&self) -> impl Iterator<Item = &String> {
        self.chosen.iter().flat_map(|chosen| &chosen.lines)
    }

    /// Returns the options that request pages, each with its pages.
    pub(crate) fn asked_pages(&self) -> impl Iterator<Item = (&'static str, Pages)> {
        let all = [
            ("--text", self.segments.text),
            ("--data", self.segments.data),
            ("--bss", self.segments.bss),
            ("--heap", self.heap),
            ("--shm", self.shm),
            ("--anon", self.anon),
            ("--stack", self.stack),
        ];
        all.into_iter()
            .filter_map(|(option, pages)| Some((option, pages?)))
    }

    /// Returns the memory that only `--auto` requested.
    pub(crate) fn chosen_subject(&self) -> Subject {
        let chosen = self.chosen.as_ref();
        chosen.map_or(Subject::NONE, |chosen| chosen.subject)
    }

    /// Whether the library is always preloaded.
    pub(crate) fn forces_preload(&self) -> bool {
        self.preload == Preload::Always
    }

    /// Whether the program's own libc should serve the heap.
    pub(crate) fn wants_libc(&self) -> bool {
        self.engine == Some(HeapEngine::Libc)
    }
}

/// The malloc that serves the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeapEngine {
    Arena,
    /// The malloc of the program's own libc.
    Libc,
}

/// Show the huge pages of running processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The processes.
    pub processes: Vec<ProcessSelector>,
    /// `--tree`
    pub tree: bool,
    /// `--sizes`
    pub sizes: bool,
    /// `--totals`
    pub totals: bool,
    /// `--json`
    pub json: bool,
    /// `--sysroot`
    pub sysroot: Option<PathBuf>,
}

/// Whether the library is preloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preload {
    /// If it is useful.
    Auto,
    Never,
    Always,
}

/// Where the library is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Library {
    /// hugectl finds it or contains it.
    Auto,
    /// In this directory, or in a library directory below it.
    At(PathBuf),
    /// The loader finds it by its name.
    ByName,
}

impl Request {
    /// Validates a command line.
    ///
    /// # Errors
    /// A [`Failure::Own`] that names the option and the reason; [`Failure::NotFound`] if the name
    /// of the program is empty.
    pub fn from_args(args: Args) -> Result<Request, Failure> {
        if !args.running.pid.is_empty() {
            adopt::adopt(args).map(Request::Adopt)
        } else if !args.reports.status.is_empty() {
            status(args).map(Request::Status)
        } else if args.compare.compare.is_some() {
            compare::read(args).map(Request::Compare)
        } else if args.reports.emit.is_some() {
            emit::read(args).map(Request::Emit)
        } else {
            run(args).map(Request::Run)
        }
    }
}

fn status(args: Args) -> Result<Status, Failure> {
    let processes = args
        .reports
        .status
        .iter()
        .map(|word| ProcessSelector::parse(word));
    let processes = processes.collect::<Result<Vec<ProcessSelector>, String>>();
    let processes = processes.or_else(|why| usage(format!("--status {why}")))?;
    if args.reports.sizes && args.reports.totals {
        return usage("--sizes and --totals: one or the other");
    }
    let program = args.command.first().map(|word| word.to_string_lossy());
    let option = args
        .given
        .first_not_of(&[given::STATUS, given::ANY])
        .map(Into::into);
    if let Some(word) = option.or(program) {
        return usage(format!(
            "--status starts no program, so {word} has no meaning with it"
        ));
    }
    Ok(Status {
        processes,
        tree: args.reports.tree,
        sizes: args.reports.sizes,
        totals: args.reports.totals,
        json: args.reports.json,
        sysroot: args.reports.sysroot,
    })
}

fn run(args: Args) -> Result<Run, Failure> {
    check_run(&args)?;
    let segments = &args.segments;
    let mut run = Run {
        segments: segments_of(&args)?,
        thp_policy: segments.thp_policy.as_deref().and_then(ThpPolicy::of_word),
        heap: heap(&args)?,
        engine: segments.heap_engine.as_deref().map(|word| match word {
            "libc" => HeapEngine::Libc,
            _ => HeapEngine::Arena,
        }),
        limit: args.scope.limit.as_deref().map(limits::limit).transpose()?,
        next_touch: limits::length("--next-touch", args.scope.next_touch.as_deref())?,
        only: args.scope.only.as_deref().map(limits::only).transpose()?,
        no_inherit: args.scope.no_inherit,
        shm: optional_pages("--shm", segments.shm.as_deref())?,
        anon: optional_pages("--anon", segments.anon.as_deref())?,
        anon_min: limits::length("--anon-min", segments.anon_min.as_deref())?,
        stack: optional_pages("--stack", segments.stack.as_deref())?,
        stack_depth: limits::length("--stack-depth", segments.stack_depth.as_deref())?,
        kernel_fork: segments.fork.is_some(),
        fallback: segments.fallback.as_deref().and_then(fallback),
        require: require::parse(args.reports.require.as_deref())?,
        report: args.reports.report,
        messages: args
            .messages
            .messages
            .as_deref()
            .map(messages_to)
            .transpose()?,
        preload: match (args.library.no_preload, args.library.force_preload) {
            (true, _) => Preload::Never,
            (_, true) => Preload::Always,
            _ => Preload::Auto,
        },
        library: match (args.library.library_use_path, args.library.library_path) {
            (true, _) => Library::ByName,
            (false, Some(path)) => Library::At(path),
            (false, None) => Library::Auto,
        },
        verbosity: args.messages.verbosity,
        dry_run: args.reports.dry_run,
        explain: args.reports.explain,
        json: args.reports.json,
        sysroot: args.reports.sysroot,
        command: args.command,
        options: args.options,
        auto: segments.auto,
        chosen: None,
    };
    // Checked last, since an invalid value may be the program's name.
    if run.command.is_empty() && !run.dry_run {
        return usage("which program? (see hugectl --help)");
    }
    require::imply(&mut run);
    require::check(&run)?;
    Ok(run)
}

fn segments_of(args: &Args) -> Result<Segments, Failure> {
    let segments = &args.segments;
    Ok(Segments {
        text: optional_pages("--text", segments.text.as_deref())?,
        data: optional_pages("--data", segments.data.as_deref())?,
        bss: optional_pages("--bss", segments.bss.as_deref())?,
        off: segments.disable.is_some(),
        libraries: segments.text_libs,
        share_text: segments.share_text,
        no_reserve: segments.no_reserve,
        perf_map: args.reports.perf_map,
    })
}

fn heap(args: &Args) -> Result<Option<Pages>, Failure> {
    let pages = optional_pages("--heap", args.segments.heap.as_deref())?;
    // In the classic tool, --thp wins wherever it is.
    Ok(match args.segments.thp {
        true => Some(Pages::Thp),
        false => pages,
    })
}

/// Checks for options that exclude each other.
fn check_run(args: &Args) -> Result<(), Failure> {
    if args.command.first().is_some_and(|name| name.is_empty()) {
        let text = "the name of the program is empty".to_owned();
        return Err(Failure::NotFound(text));
    }
    if args.reports.dry_run && args.reports.explain {
        return usage("--dry-run and --explain: one or the other");
    }
    let starts = !args.reports.dry_run && !args.reports.explain;
    if args.reports.sysroot.is_some() && starts {
        return usage(
            "--sysroot needs --status, --dry-run or --explain: a recorded machine runs no program",
        );
    }
    if let Some((option, needed)) = args.given.of_running() {
        return usage(format!("{option} needs {needed}"));
    }
    if let Some(option) = args.given.first_of(&args::compare::OPTIONS) {
        return usage(format!("{option} needs --compare"));
    }
    if args.reports.json && starts && args.reports.report.is_none() {
        return usage("--json needs --status, --report, --compare, --dry-run or --explain");
    }
    Ok(())
}

fn optional_pages(option: &str, text: Option<&str>) -> Result<Option<Pages>, Failure> {
    let pages = match text {
        None => return Ok(None),
        Some(DEFAULT) => Pages::Default,
        Some(text) if text.eq_ignore_ascii_case("thp") => Pages::Thp,
        Some(text) => match text.parse::<PageSize>() {
            Ok(size) => Pages::Size(size.get()),
            Err(SizeError::NoNumber) => {
                return usage(format!(
                    "{option}={text}: neither thp nor a page size, such as 2MB"
                ));
            }
            Err(error) => return usage(format!("{option}={text}: {error}")),
        },
    };
    Ok(Some(pages))
}

fn messages_to(word: &OsStr) -> Result<messages::MessageDestination, Failure> {
    match messages::MessageDestination::parse(word) {
        Some(to) => Ok(to),
        None => usage(format!(
            "--messages={}: neither a file nor the number of a descriptor",
            Path::new(word).display()
        )),
    }
}

fn fallback(word: &str) -> Option<Fallback> {
    let all = [Fallback::Thp, Fallback::Base, Fallback::None];
    all.into_iter().find(|fallback| fallback.word() == word)
}

fn usage<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Own(text.into()))
}

#[cfg(test)]
pub(crate) mod tests;
