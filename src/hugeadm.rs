//! hugeadm: read the command line and the environment, run, print, choose the
//! exit status.

mod run;
mod show;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use hugetools_admin::args::{Args, Stop};
use hugetools_admin::live::{caught_signal, end_by};
use hugetools_admin::report::Status;
use hugetools_contract::env;
use hugetools_model::Root;

use self::run::Run;
use crate::console;
use crate::log::Log;

/// The whole program.
#[expect(clippy::disallowed_methods, reason = "the environment is read here")]
pub fn main() -> ExitCode {
    let argv = std::env::args_os().collect();
    let status = run(argv, &|name| std::env::var_os(name));
    if let Some(signal) = caught_signal() {
        end_by(signal);
    }
    ExitCode::from(status.code())
}

fn run(argv: Vec<OsString>, env: &dyn Fn(&str) -> Option<OsString>) -> Status {
    let mut log = Log {
        prefix: "hugeadm:",
        verbosity: env::DEFAULT_VERBOSITY,
    };
    log.verbosity = environment(env, &log);
    let args = match Args::read(argv) {
        Ok(args) => args,
        Err(Stop::Print(text)) => return print(&log, &text),
        Err(Stop::Usage(text)) => return usage(&log, &text),
    };
    let verbosity = args.how.verbose.unwrap_or(log.verbosity);
    log.verbosity = verbosity.saturating_add(args.how.more).min(99);
    if !args.show.any() && !args.changes() {
        return usage(&log, "no option says what to do");
    }
    let root = match &args.how.sysroot {
        None => live(),
        Some(dir) => match Root::at(dir) {
            Ok(root) => root,
            Err(why) => return usage(&log, &format!("--sysroot: {why}")),
        },
    };
    Run::new(args, root, log).all()
}

#[expect(
    clippy::disallowed_methods,
    reason = "without --sysroot, this machine is meant"
)]
fn live() -> Root {
    Root::live()
}

/// The verbosity of the environment, whose values are taken leniently.
fn environment(env: &dyn Fn(&str) -> Option<OsString>, log: &Log) -> u8 {
    if env(env::DEBUG).is_some() {
        return 4;
    }
    let Some(value) = env(env::VERBOSE) else {
        return log.verbosity;
    };
    let verbosity = env::verbosity(value.as_bytes());
    if value.to_str().and_then(|text| text.parse().ok()) != Some(verbosity) {
        let name = env::VERBOSE;
        log.warning(&format!("{name} is {value:?}, taken as {verbosity}"));
    }
    verbosity
}

fn usage(log: &Log, text: &str) -> Status {
    log.error(&format!("{text}\n  hugeadm --help explains the options"));
    Status::Usage
}

fn print(log: &Log, text: &str) -> Status {
    match console::out(text) {
        Ok(()) => Status::Done,
        Err(error) => unwritable(log, &error),
    }
}

fn unwritable(log: &Log, error: &io::Error) -> Status {
    log.error(&format!("cannot write to standard output: {error}"));
    Status::Failed
}
