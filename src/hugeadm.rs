//! hugeadm: reads command line and environment, runs, prints, and returns the exit status.

mod file;
mod run;
mod show;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::CommandFactory;
use hugetools_admin::args::{Args, Stop};
use hugetools_admin::live::{caught_signal, end_by};
use hugetools_admin::report::Status;
use hugetools_contract::env;
use hugetools_contract::level::Level;
use hugetools_model::{Head, machine};
use serde::Serialize;

use self::run::Run;
use crate::log::Log;
use crate::stdout;
use crate::usage::{NOTHING_TO_DO, help_or_error, short, wants_json};

/// The log until the verbosity is known.
const LOG: Log = Log::new("hugeadm");

/// Runs hugeadm. The first argument is the name of the tool. Returns the exit status.
pub fn main(argv: Vec<OsString>) -> u8 {
    let status = run(argv);
    if let Some(signal) = caught_signal() {
        end_by(signal);
    }
    status.code()
}

fn run(argv: Vec<OsString>) -> Status {
    let (verbosity, warning) = inherited_verbosity();
    let mut log = Log { verbosity, ..LOG };
    let args = match Args::read(argv.clone()) {
        Ok(args) => args,
        Err(stop) => {
            let command = Args::command();
            let answer = match stop {
                Stop::Usage(text) => Err(text),
                Stop::Clap(error) => help_or_error(&error, &argv, &command, Some(short::HUGEADM)),
            };
            let json = wants_json(&argv, &command);
            return match answer {
                Ok(text) => print(&log, &text),
                Err(text) => Early { log, json, warning }.usage(&text),
            };
        }
    };
    let verbosity = args.general.verbose.unwrap_or(log.verbosity);
    log.verbosity = verbosity.saturating_add(args.general.more).min(99);
    let json = args.general.json;
    let is_idle = !args.shows() && !args.changes();
    if is_idle && !wants_overview(&args) {
        return Early { log, json, warning }.usage(NOTHING_TO_DO);
    }
    if let Some(why) = args.misuse() {
        return Early { log, json, warning }.usage(why);
    }
    let root = match crate::root(args.general.sysroot.as_deref()) {
        Ok(root) => root,
        Err(why) => return Early { log, json, warning }.usage(&why),
    };
    if let Some(path) = machine::missing_kernel_file(&root) {
        let text = format!(
            "{path} is missing, as in a chroot: the state of huge pages is unknown\n  \
             mount -t proc proc /proc; mount -t sysfs sysfs /sys"
        );
        return Early { log, json, warning }.failed(Status::Failed, &text);
    }
    let mut run = Run::new(args, root, log);
    run.is_idle = is_idle;
    match json {
        true => warning
            .iter()
            .for_each(|text| run.say(Level::Warning, text)),
        false => warning.iter().for_each(|text| LOG.warning(text)),
    }
    run.run_all()
}

/// Whether only general options are given, other than `--json` and `--dry-run`.
fn wants_overview(args: &Args) -> bool {
    let only_general = Args {
        general: args.general.clone(),
        ..Args::default()
    };
    *args == only_general && !args.general.json && !args.general.dry_run
}

/// The state for error messages before a [`Run`] exists.
struct Early {
    log: Log,
    json: bool,
    /// A warning about an invalid variable.
    warning: Option<String>,
}

impl Early {
    /// Reports a usage error.
    fn usage(self, text: &str) -> Status {
        self.failed(Status::Usage, text)
    }

    fn failed(self, status: Status, text: &str) -> Status {
        if !self.json {
            self.warning.iter().for_each(|text| LOG.warning(text));
            self.log.error(text);
            return status;
        }
        let mut head = Head::failed("hugeadm", status.code(), text);
        head.warnings.extend(self.warning);
        status.max(print_json(&self.log, &head))
    }
}

/// Returns the verbosity from the environment. Parses it leniently, and warns if it is invalid.
#[expect(clippy::disallowed_methods, reason = "the environment is read here")]
fn inherited_verbosity() -> (u8, Option<String>) {
    if std::env::var_os(env::DEBUG).is_some() {
        return (Level::Debug as u8, None);
    }
    let Some(value) = std::env::var_os(env::VERBOSE) else {
        return (env::DEFAULT_VERBOSITY, None);
    };
    let verbosity = env::verbosity(value.as_bytes()).unwrap_or(env::DEFAULT_VERBOSITY);
    let is_plain = value.to_str().and_then(|text| text.parse().ok()) == Some(verbosity);
    let name = env::VERBOSE;
    let warning = (!is_plain).then(|| format!("{name} is {value:?}, taken as {verbosity}"));
    (verbosity, warning)
}

fn print_json(log: &Log, document: &impl Serialize) -> Status {
    match stdout::out_json(log, document) {
        0 => Status::Done,
        _ => Status::Failed,
    }
}

fn print(log: &Log, text: &str) -> Status {
    match stdout::print(log, text) {
        0 => Status::Done,
        _ => Status::Failed,
    }
}
