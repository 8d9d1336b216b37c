//! hugectl: reads command line and environment, runs, prints, and returns the exit status.

mod adopt;
mod compare;
mod progress;
mod show;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::CommandFactory;
use hugetools_ctl::apply::exec;
use hugetools_ctl::apply::{self, Applied, rights};
use hugetools_ctl::args;

use hugetools_ctl::caller::Caller;
use hugetools_ctl::caller::filter::Filter;
use hugetools_ctl::emit;
use hugetools_ctl::explain;
use hugetools_ctl::plan;
use hugetools_ctl::plan::Plan;
use hugetools_ctl::probe::bundle::Bundle;
use hugetools_ctl::probe::probe;
use hugetools_ctl::request::thp_policy::ThpPolicy;
use hugetools_ctl::request::{Emit, Request, Run};
use hugetools_ctl::say::failure::Failure;
use hugetools_ctl::say::messages::Outlet;
use hugetools_ctl::say::note::{Level, Note};
use hugetools_ctl::wait::{self, Role};
use hugetools_model::process::Pid;
use hugetools_model::root::error::describe;
use hugetools_model::{Head, Root};

use crate::ignored_signals::IgnoredSignals;
use crate::log::Log;
use crate::terminal::{self, lay_out};
use crate::usage::{help_or_error, short, suggest_option, wants_json};
use crate::{console, stdout};

const TOOL: &str = "hugectl";

/// The log at the default verbosity.
const LOG: Log = Log::new(TOOL);

/// The embedded libraries, built by the build script.
pub const BUNDLE: Bundle<'static> = Bundle {
    digest: env!("HUGETOOLS_DIGEST"),
    preload: include_bytes!(env!("HUGETOOLS_PRELOAD")),
    heap: include_bytes!(env!("HUGETOOLS_HEAP")),
};

/// Runs hugectl with this process's environment. The first argument is the name of the tool.
/// Returns the exit status, unless the program replaces this process.
pub fn main(argv: Vec<OsString>) -> u8 {
    let args = match args::parse(argv.clone()) {
        Ok(args) => args,
        Err(error) => return no_args(&error, &argv),
    };
    if argv.len() < 2 {
        let usage = args::Args::command().render_usage();
        let text = format!("which program?\n{usage}\n\n{}", short::HUGECTL_EXAMPLES);
        return fail(&Failure::Own(text.trim_end().to_owned()), 1);
    }
    let program = args.command.first().cloned().unwrap_or_default();
    let mut caller = Caller::own();
    let verbosity = args.messages.verbosity;
    let level = |caller: &Caller| verbosity.over(caller.verbosity());
    let json = args.reports.json;
    let result = Request::from_args(args).and_then(|request| match request {
        Request::Run(run) => start(run, &mut caller),
        Request::Status(status) => show::show(&status).map(|()| 0),
        Request::Adopt(request) => adopt::adopt(&request, level(&caller)),
        Request::Emit(emit) => emit_text(emit, &caller),
        Request::Compare(request) => compare::run(&request),
    });
    let meant = || suggest_option(&program.to_string_lossy(), &args::Args::command());
    match result {
        Ok(status) => status,
        Err(Failure::NotFound(why)) if !json && !why.contains(';') && !meant().is_empty() => {
            fail(&Failure::NotFound(why + &meant()), level(&caller))
        }
        Err(failure) if json => fail_as_json(&failure),
        Err(failure) => fail(&failure, level(&caller)),
    }
}

/// Prints help, version or a usage error.
fn no_args(error: &clap::Error, argv: &[OsString]) -> u8 {
    let command = args::Args::command();
    let short = [short::HUGECTL, short::HUGECTL_EXAMPLES].concat();
    let printed = match help_or_error(error, argv, &command, Some(&short)) {
        Ok(text) => print(&text),
        Err(text) => Err(Failure::Own(text)),
    };
    match printed {
        Ok(()) => 0,
        Err(failure) if wants_json(argv, &command) => fail_as_json(&failure),
        Err(failure) => fail(&failure, 1),
    }
}

/// Prints a failure as JSON. No program was started, so standard output is free.
fn fail_as_json(failure: &Failure) -> u8 {
    let head = Head::failed(TOOL, failure.status(), failure.to_string());
    stdout::out_json(&LOG, &head);
    failure.status()
}

fn fail(failure: &Failure, level: u8) -> u8 {
    say(&[Note::error(failure.to_string())], level);
    failure.status()
}

fn print(text: &str) -> Result<(), Failure> {
    console::out(text).map_err(unwritable)
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::Own(stdout::unwritable(&error))
}

/// Logs the options that `--auto` chose, even at the default verbosity.
fn say_chosen(run: &Run, verbosity: u8) {
    if Level::Warning.is_shown(verbosity) && !Level::Info.is_shown(verbosity) {
        let notes: Vec<Note> = run.chosen().map(Note::info).collect();
        say(&notes, Level::Info as u8);
    }
}

/// Logs the notes that the verbosity permits.
fn say(notes: &[Note], verbosity: u8) {
    let log = Log { verbosity, ..LOG };
    for note in notes {
        log.say(note.level, &note.text);
    }
}

/// Starts the program, or prints how it would be started. Returns the exit status, unless the
/// program replaces this process.
fn start(run: Run, caller: &mut Caller) -> Result<u8, Failure> {
    let root = root(run.sysroot.as_deref())?;
    if run.starts() {
        rights::check(&root)?;
    }
    caller.filter = Filter::probe(&root)?;
    // Writing beyond `ulimit -f` must fail with an error instead of SIGXFSZ.
    start_on(&root, run, caller, IgnoredSignals::begin())
}

/// Does the work of [`start`] on `root`, while SIGPIPE and SIGXFSZ are ignored.
fn start_on(
    root: &Root,
    mut run: Run,
    caller: &Caller,
    ignored: IgnoredSignals,
) -> Result<u8, Failure> {
    let outlet = open_outlet(&run, caller)?;
    let findings = probe(&mut run, caller, root, Some(&BUNDLE), outlet.as_ref())?;
    let run = &run;
    let plan = plan::make(run, caller, &findings);
    if run.explain {
        let explained = explain::explain(run, &findings, &plan);
        let text = match run.json {
            true => explained.to_json(),
            false => lay_out(&explained.to_text()),
        };
        return print(&text).map(|()| explained.status());
    }
    if run.dry_run && run.json {
        return print(&plan.to_json()).map(|()| 0);
    }
    if run.starts() {
        refuse(&plan.refusals, run.json, findings.verbosity)?;
    }
    say_chosen(run, findings.verbosity);
    say(&plan.notes, findings.verbosity);
    let refusals = plan.refusals.iter().map(Note::warning);
    say(&refusals.collect::<Vec<_>>(), findings.verbosity);
    if run.dry_run {
        let comment = run.thp_policy.map(ThpPolicy::comment).unwrap_or_default();
        let shell = [comment.into_bytes(), plan.to_shell()].concat();
        let printed = console::out_bytes(&shell);
        return printed.map(|()| 0).map_err(unwritable);
    }
    if Level::Info.is_shown(findings.verbosity) {
        let lines = plan.to_shell();
        let lines = String::from_utf8_lossy(&lines);
        let lines = lines.lines().take(plan.variables.len());
        say(
            &lines.map(Note::info).collect::<Vec<_>>(),
            findings.verbosity,
        );
    }
    let applied = apply::apply(&plan, &BUNDLE, caller, root)?;
    say(&applied.notes, findings.verbosity);
    // Restore the signal actions: the program would inherit ignored signals.
    drop(ignored);
    let messages = outlet.as_ref().map(|outlet| &**outlet.file());
    match plan.report.clone() {
        Some(to) => run_with_report(
            root,
            (&plan, applied),
            &to,
            messages,
            caller,
            findings.verbosity,
        ),
        None => Err(exec::exec(&plan, &applied, caller)),
    }
}

/// Starts the program as a child, waits and prints its report. Returns the program's exit status,
/// or why it didn't start. If hugectl cannot wait, it executes the program and the library reports.
fn run_with_report(
    root: &Root,
    (plan, mut applied): (&Plan, Applied),
    to: &wait::ReportDestination,
    messages: Option<&std::fs::File>,
    caller: &Caller,
    verbosity: u8,
) -> Result<u8, Failure> {
    let role = match caller.filter.call_that_kills_waiting() {
        Some(call) => Err(format!("a seccomp filter kills processes that call {call}")),
        None => wait::begin(to, messages),
    };
    match role {
        Ok(Role::Parent(parent)) => Ok(parent.wait(root, terminal::wrap_message, |why| {
            let text = format!("no report: it cannot be written: {}", describe(why));
            say(&[Note::warning(text)], verbosity);
        })),
        Ok(Role::Program(program)) => {
            applied.set_watcher(program.variable());
            let failure = exec::exec(plan, &applied, &caller.this_process());
            program.cancel();
            Err(failure)
        }
        Err(why) => {
            let text = format!(
                "no report if a signal ends the program or if it is written in Go: hugectl \
                 cannot wait for it ({why})"
            );
            say(&[Note::warning(text)], verbosity);
            Err(exec::exec(plan, &applied, caller))
        }
    }
}

/// Opens the destination of messages, if the program is started and messages are redirected.
fn open_outlet(run: &Run, caller: &Caller) -> Result<Option<Outlet>, Failure> {
    let outlet = match &run.messages {
        _ if !run.starts() => None,
        Some(to) => Some(Outlet::open(to).map_err(Failure::Own)?),
        None => Outlet::inherited(caller),
    };
    if let Some(outlet) = &outlet {
        console::redirect_messages(Arc::clone(outlet.file()));
    }
    Ok(outlet)
}

/// Prints settings for another starter, such as systemd. They must not depend on the caller: of its
/// environment only `PATH` counts, and the embedded libraries are ignored.
fn emit_text(mut emit: Emit, caller: &Caller) -> Result<u8, Failure> {
    let caller = emit::service(caller);
    let root = root(None)?;
    let findings = probe(&mut emit.run, &caller, &root, None, None)?;
    let plan = plan::make(&emit.run, &caller, &findings);
    if !plan.asks {
        let why = "--emit: nothing was asked for: add --heap or another option, see hugectl -h";
        return Err(Failure::Own(why.to_owned()));
    }
    let text = emit::text(&emit, &findings, &plan)?;
    say(&plan.notes, findings.verbosity);
    if let Some(warning) = emit::warning(&emit) {
        say(&[Note::warning(warning)], findings.verbosity);
    }
    print(&text).map(|()| 0)
}

/// Refuses to start the program if a requirement cannot be met.
fn refuse(refusals: &[String], json: bool, verbosity: u8) -> Result<(), Failure> {
    let Some((last, others)) = refusals.split_last() else {
        return Ok(());
    };
    if json {
        return Err(Failure::Own(refusals.join("; ")));
    }
    say(
        &others.iter().map(Note::error).collect::<Vec<_>>(),
        verbosity,
    );
    Err(Failure::Own(last.clone()))
}

/// Calls a function for each process, and warns of those for which it fails: they may have ended.
/// Fails if it fails for all, or for one that `is_named`.
fn each<T>(
    pids: Vec<Pid>,
    is_named: impl Fn(Pid) -> bool,
    warnings: &mut Vec<String>,
    mut call: impl FnMut(Pid) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let (mut all, mut first) = (Vec::new(), None);
    for pid in pids {
        match call(pid) {
            Ok(one) => all.push(one),
            Err(why) if is_named(pid) => return Err(why),
            Err(why) => {
                warnings.push(why.to_string());
                first.get_or_insert(why);
            }
        }
    }
    match first {
        Some(why) if all.is_empty() => Err(why),
        _ => Ok(all),
    }
}

fn root(sysroot: Option<&Path>) -> Result<Root, Failure> {
    crate::root(sysroot).map_err(Failure::Own)
}
