//! hugectl: what goes in, what comes out, and the exit status.

use std::ffi::OsString;

use clap::error::ErrorKind;
use hugetools_ctl::args;
use hugetools_ctl::bundle::Bundle;
use hugetools_ctl::caller::Caller;
use hugetools_ctl::exec;
use hugetools_ctl::explore::explore;
use hugetools_ctl::failure::Failure;
use hugetools_ctl::live::Live;
use hugetools_ctl::note::{Level, Note};
use hugetools_ctl::plan::{self, Plan};
use hugetools_ctl::request::{Request, Run, Status, verbosity};
use hugetools_ctl::status::Snapshot;
use hugetools_model::Root;

use crate::console;
use crate::log::Log;

/// The libraries inside hugectl, which the build script built.
const BUNDLE: Bundle<'static> = Bundle {
    digest: env!("HUGETOOLS_DIGEST"),
    preload: include_bytes!(env!("HUGETOOLS_PRELOAD")),
    heap: include_bytes!(env!("HUGETOOLS_HEAP")),
};

/// Runs hugectl with the arguments, the name of the tool first, and the
/// environment of this process. It returns only where no program was started:
/// with the exit status.
pub fn main(argv: Vec<OsString>) -> u8 {
    let args = match args::parse(argv) {
        Ok(args) => args,
        Err(error) => return no_args(&error),
    };
    let caller = Caller::this(std::env::vars_os());
    let level = verbosity(caller.verbosity(), &args.steps);
    let result = Request::from_args(args).and_then(|request| match request {
        Request::Run(run) => start(&run, &caller),
        Request::Status(status) => show(&status),
    });
    match result {
        Ok(()) => 0,
        Err(failure) => fail(&failure, level),
    }
}

/// Help, version, and what is wrong with a command line.
fn no_args(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&error.to_string()).map_or_else(|failure| fail(&failure, 1), |()| 0)
        }
        _ => fail(&Failure::Own(args::explain(error)), 1),
    }
}

fn fail(failure: &Failure, level: u8) -> u8 {
    say(&[Note::error(failure.to_string())], level);
    failure.status()
}

fn print(text: &str) -> Result<(), Failure> {
    console::out(text).map_err(unwritable)
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::Own(format!("cannot write the output: {error}"))
}

/// Says what the verbosity shows.
fn say(notes: &[Note], verbosity: u8) {
    let log = Log {
        prefix: "hugectl: ",
        verbosity,
    };
    for note in notes {
        log.say(note.level as u8, &note.text);
    }
}

/// Starts the program, or prints how it would be started.
fn start(run: &Run, caller: &Caller) -> Result<(), Failure> {
    let root = root(run.sysroot.as_deref())?;
    let mut effects = Live::new(&root);
    let findings = explore(run, caller, &root, Some(&BUNDLE), &mut effects)?;
    let plan = plan::make(run, caller, &findings);
    say(&plan.notes, findings.verbosity);
    if run.dry_run {
        return show_plan(run, &plan);
    }
    if Level::Info.is_shown(findings.verbosity) {
        let lines = plan.to_string();
        let lines = lines.lines().take(plan.variables.len());
        say(
            &lines.map(Note::info).collect::<Vec<_>>(),
            findings.verbosity,
        );
    }
    Err(exec::exec(&plan, caller))
}

fn show_plan(run: &Run, plan: &Plan) -> Result<(), Failure> {
    match run.json {
        true => print(&plan.to_json()),
        false => console::out_bytes(&plan.to_shell()).map_err(unwritable),
    }
}

/// Prints what a running process has.
fn show(status: &Status) -> Result<(), Failure> {
    let root = root(status.sysroot.as_deref())?;
    let snapshot = Snapshot::take(&root, status.pid)?;
    print(&snapshot.to_text(status.json))
}

fn root(sysroot: Option<&std::path::Path>) -> Result<Root, Failure> {
    match sysroot {
        None => Ok(live()),
        Some(dir) => Root::at(dir).map_err(|why| Failure::Own(format!("--sysroot: {why}"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "here the live system is meant")]
fn live() -> Root {
    Root::live()
}
