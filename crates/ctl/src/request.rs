//! What is asked, validated as far as the command line alone allows.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hugetools_contract::env::{Fallback, Limit, Pages, Require};
use hugetools_model::units::seconds;
use hugetools_model::units::size::SizeError;
use hugetools_model::{Bytes, PageSize};

use crate::args::{Args, DEFAULT, Step, TERMINAL};
use crate::request::asked_segments::Segments;
use crate::request::thp_policy::ThpPolicy;
use crate::say::failure::Failure;
use crate::say::messages;
use crate::say::subject::Subject;

mod adopt;
pub mod asked_segments;
mod emit;
mod limits;
mod processes;
mod require;
pub mod thp_policy;

pub use adopt::Adopt;
pub use emit::{Emit, EmitKind};
pub use processes::Whom;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Start a program.
    Run(Run),
    /// Say what a running process has.
    Status(Status),
    /// Put the memory of running programs on huge pages.
    Adopt(Adopt),
    /// Say what another starter needs to be told.
    Emit(Emit),
}

/// Start a program, or say how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What is asked for the program's segments.
    pub segments: Segments,
    /// What becomes of transparent huge pages, where it is said.
    pub thp_policy: Option<ThpPolicy>,
    /// The heap's huge pages, where asked for.
    pub heap: Option<Pages>,
    /// Who is to serve the heap, where that is said.
    pub engine: Option<HeapEngine>,
    /// Shared memory's huge pages, where asked for.
    pub shm: Option<Pages>,
    /// What private mappings of the program's own are asked for.
    pub anon: Option<Pages>,
    /// From which length on, where it is said.
    pub anon_min: Option<Bytes>,
    /// What stacks are asked for.
    pub stack: Option<Pages>,
    /// How much of each is there before it is used, where it is said.
    pub stack_depth: Option<Bytes>,
    /// Whether forks of private pool memory are the kernel's.
    pub kernel_fork: bool,
    /// When huge pages run out, where it is said.
    pub fallback: Option<Fallback>,
    /// What each process may take of the pools.
    pub limit: Option<Limit>,
    /// The names of the programs that get huge pages, with colons between them.
    pub only: Option<OsString>,
    /// Whether what the program starts gets none.
    pub no_inherit: bool,
    /// What must be on huge pages.
    pub require: Require,
    /// The report at the end of the program.
    pub report: Option<ReportTo>,
    /// Whether the library is preloaded.
    pub preload: Preload,
    /// Where the library is.
    pub library: Library,
    /// Where messages go instead of standard error.
    pub messages: Option<messages::To>,
    /// How the verbosity differs from the environment's.
    pub steps: Vec<Step>,
    /// Print instead of starting.
    pub dry_run: bool,
    /// Say what each segment would get, and what would fall short.
    pub explain: bool,
    /// As JSON.
    pub json: bool,
    /// A directory with a recorded `/proc` and `/sys`, for a dry run.
    pub sysroot: Option<PathBuf>,
    /// The program and its arguments; empty in a dry run of options alone.
    pub command: Vec<OsString>,
    /// The words in front of it, as they were typed.
    pub options: Vec<OsString>,
    /// Choose the options that suit the program.
    pub auto: bool,
    /// What that chose.
    pub chosen: Option<Chosen>,
}

/// What `--auto` chose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// The options and the reason, and what to look out for: a line each.
    pub lines: Vec<String>,
    /// Memory that only `--auto` asked for.
    pub(crate) subject: Subject,
}

impl Run {
    /// Whether the program is started.
    pub fn starts(&self) -> bool {
        !self.dry_run && !self.explain
    }

    /// What `--auto` chose, and what to look out for, a line each.
    pub fn chosen(&self) -> impl Iterator<Item = &String> {
        self.chosen.iter().flat_map(|chosen| &chosen.lines)
    }

    /// Returns the options that ask for pages, with these.
    pub fn asked_pages(&self) -> impl Iterator<Item = (&'static str, Pages)> {
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

    /// Whether the heap is to stay with the program's own libc.
    pub fn wants_libc(&self) -> bool {
        self.engine == Some(HeapEngine::Libc)
    }
}

/// Who is to serve the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapEngine {
    /// Our library's own `malloc`.
    Arena,
    /// The program's own libc.
    Libc,
}

/// Say what running processes have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Which ones.
    pub whom: Vec<Whom>,
    /// And those that they have started.
    pub tree: bool,
    /// And the sizes of folios.
    pub sizes: bool,
    /// Only what each has in all.
    pub totals: bool,
    /// Again and again, with so much time in between.
    pub watch: Option<Duration>,
    /// As JSON.
    pub json: bool,
    /// How the verbosity differs from the environment's.
    pub steps: Vec<Step>,
    /// A directory with a recorded `/proc` and `/sys`.
    pub sysroot: Option<PathBuf>,
}

/// Where a report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportTo {
    /// To standard error.
    Terminal,
    /// To the end of a file, as JSON lines.
    File(PathBuf),
}

/// Whether the library is preloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preload {
    /// Where it is of use.
    Auto,
    /// Not at all.
    Never,
    /// In any case.
    Always,
}

/// Where the library is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// hugectl finds it or brings it.
    Auto,
    /// In this directory, or in the library directories below it.
    At(PathBuf),
    /// The loader finds it by its name.
    ByName,
}

impl Request {
    /// Validates a command line.
    ///
    /// # Errors
    /// An [`Failure::Own`] that names the option and what is wrong with it.
    pub fn from_args(args: Args) -> Result<Request, Failure> {
        if args.running.undo {
            return usage(adopt::NO_UNDO);
        }
        match (
            args.running.pid.is_empty(),
            args.proof.status.is_empty(),
            &args.proof.emit,
        ) {
            (false, _, _) => adopt::adopt(args).map(Request::Adopt),
            (true, false, _) => status(args).map(Request::Status),
            (true, true, Some(_)) => emit::read(args).map(Request::Emit),
            (true, true, None) => run(args).map(Request::Run),
        }
    }
}

/// The verbosity that results from the environment's and the options.
pub fn verbosity(start: u8, steps: &[Step]) -> u8 {
    steps.iter().fold(start, |level, step| match step {
        Step::Louder => level.saturating_add(1).min(99),
        Step::Quieter => level.saturating_sub(1),
        Step::Exactly(level) => *level,
    })
}

fn status(args: Args) -> Result<Status, Failure> {
    let whom = args.proof.status.iter().map(|word| Whom::parse(word));
    let whom = whom.collect::<Result<Vec<Whom>, String>>();
    let whom = whom.or_else(|why| usage(format!("--status {why}")))?;
    let watch = watch(args.proof.watch.as_deref())?;
    if args.proof.sizes && args.proof.totals {
        return usage("--sizes and --totals: one or the other");
    }
    starts_nothing(&args)?;
    Ok(Status {
        whom,
        tree: args.proof.tree,
        sizes: args.proof.sizes,
        totals: args.proof.totals,
        watch,
        json: args.proof.json,
        steps: args.steps,
        sysroot: args.proof.sysroot,
    })
}

/// What has a meaning only where a program is started.
fn starts_nothing(args: &Args) -> Result<(), Failure> {
    if let Some(option) = args.given.not_of_status() {
        return usage(format!(
            "--status starts no program, so {option} has no meaning with it"
        ));
    }
    if let Some(program) = args.command.first() {
        let program = Path::new(program).display();
        return usage(format!(
            "--status starts no program, so {program} has no meaning with it"
        ));
    }
    Ok(())
}

/// The time between two looks.
fn watch(word: Option<&str>) -> Result<Option<Duration>, Failure> {
    match word.map(|word| (word, seconds::parse(word))) {
        None => Ok(None),
        Some((_, Some(time))) => Ok(Some(time)),
        Some((word, None)) => usage(format!("--watch={word}: {}", seconds::NOT_A_TIME)),
    }
}

fn run(args: Args) -> Result<Run, Failure> {
    let report = match &args.proof.report {
        None => None,
        Some(file) if file.as_os_str() == TERMINAL => Some(ReportTo::Terminal),
        Some(file) => Some(ReportTo::File(file.clone())),
    };
    check_run(&args)?;
    let require = args
        .proof
        .require
        .as_deref()
        .map(require::require)
        .transpose()?;
    let mut run = Run {
        segments: segments(&args)?,
        thp_policy: args
            .segments
            .thp_policy
            .as_deref()
            .and_then(ThpPolicy::of_word),
        heap: heap(&args)?,
        engine: args.segments.heap_engine.as_deref().map(engine),
        limit: args.scope.limit.as_deref().map(limits::limit).transpose()?,
        only: args.scope.only.as_deref().map(limits::only).transpose()?,
        no_inherit: args.scope.no_inherit,
        shm: optional_pages("--shm", args.segments.shm.as_deref())?,
        anon: optional_pages("--anon", args.segments.anon.as_deref())?,
        anon_min: limits::length("--anon-min", args.segments.anon_min.as_deref())?,
        stack: optional_pages("--stack", args.segments.stack.as_deref())?,
        stack_depth: limits::length("--stack-depth", args.segments.stack_depth.as_deref())?,
        kernel_fork: args.segments.fork.is_some(),
        fallback: args.segments.fallback.as_deref().and_then(fallback),
        require: require.unwrap_or_default(),
        report,
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
        steps: args.steps,
        dry_run: args.proof.dry_run,
        explain: args.proof.explain,
        json: args.proof.json,
        sysroot: args.proof.sysroot,
        command: args.command,
        options: args.options,
        auto: args.segments.auto,
        chosen: None,
    };
    // Not before: a value that is wrong may be the program's name.
    if run.command.is_empty() && !run.dry_run {
        return usage("which program? (see hugectl --help)");
    }
    require::imply(&mut run);
    require::check(&run)?;
    Ok(run)
}

fn heap(args: &Args) -> Result<Option<Pages>, Failure> {
    Ok(match (args.segments.heap.as_deref(), args.segments.thp) {
        // The classic tool lets a bare --heap leave --thp as it is.
        (Some(DEFAULT), true) | (None, true) => Some(Pages::Thp),
        (Some(_), true) if args.thp_last => Some(Pages::Thp),
        (Some(text), _) => Some(pages("--heap", text)?),
        (None, false) => None,
    })
}

/// What does not go together.
fn check_run(args: &Args) -> Result<(), Failure> {
    if args
        .command
        .first()
        .is_some_and(|program| program.is_empty())
    {
        return Err(Failure::NotFound(
            "the name of the program is empty".to_owned(),
        ));
    }
    if args.proof.dry_run && args.proof.explain {
        return usage("--dry-run and --explain: one or the other");
    }
    let starts = !args.proof.dry_run && !args.proof.explain;
    if args.proof.sysroot.is_some() && starts {
        return usage(
            "--sysroot needs --status, --dry-run or --explain: a recorded machine runs no program",
        );
    }
    not_of_status(args)?;
    if args.proof.json && starts && args.proof.report.is_none() {
        return usage("--json needs --status, --report, --dry-run or --explain");
    }
    Ok(())
}

fn segments(args: &Args) -> Result<Segments, Failure> {
    Ok(Segments {
        text: optional_pages("--text", args.segments.text.as_deref())?,
        data: optional_pages("--data", args.segments.data.as_deref())?,
        bss: optional_pages("--bss", args.segments.bss.as_deref())?,
        off: args.segments.disable.is_some(),
        libraries: args.segments.text_libs,
        share_text: args.segments.share_text,
        no_reserve: args.segments.no_reserve,
        perf_map: args.proof.perf_map,
    })
}

fn optional_pages(option: &str, text: Option<&str>) -> Result<Option<Pages>, Failure> {
    text.map(|text| pages(option, text)).transpose()
}

fn pages(option: &str, text: &str) -> Result<Pages, Failure> {
    if text == DEFAULT {
        return Ok(Pages::Default);
    }
    if text.eq_ignore_ascii_case("thp") {
        return Ok(Pages::Thp);
    }
    match text.parse::<PageSize>() {
        Ok(size) => Ok(Pages::Size(size.get())),
        Err(SizeError::NoNumber) => usage(format!(
            "{option}={text}: neither thp nor a page size, such as 2MB"
        )),
        Err(error) => usage(format!("{option}={text}: {error}")),
    }
}

fn messages_to(word: &OsStr) -> Result<messages::To, Failure> {
    let to = messages::To::parse(word);
    to.map_or_else(
        || {
            usage(format!(
                "--messages={}: neither a file nor the number of a descriptor",
                Path::new(word).display()
            ))
        },
        Ok,
    )
}

fn engine(word: &str) -> HeapEngine {
    match word {
        "libc" => HeapEngine::Libc,
        _ => HeapEngine::Arena,
    }
}

fn fallback(word: &str) -> Option<Fallback> {
    let all = [Fallback::Thp, Fallback::Base, Fallback::None];
    all.into_iter().find(|fallback| fallback.word() == word)
}

/// What has a meaning with `--status` or `--pid` only.
fn not_of_status(args: &Args) -> Result<(), Failure> {
    match args.given.of_running() {
        None => Ok(()),
        Some((option, needed)) => usage(format!(
            "{option} needs {needed}: it is about running processes"
        )),
    }
}

fn usage<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Own(text.into()))
}

#[cfg(test)]
pub(crate) mod tests;
