//! hugeadm: read the command line and the environment, run, print, choose the
//! exit status.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use hugetools_admin::args::{Args, Stop};
use hugetools_admin::document::Document;
use hugetools_admin::live::{Live, accessible, find_group};
use hugetools_admin::report::Status;
use hugetools_admin::request::Request;
use hugetools_admin::{apply, listing, plan, report, shell};
use hugetools_contract::env;
use hugetools_model::meminfo::Meminfo;
use hugetools_model::mount::{self, Mount};
use hugetools_model::pool::{self, Pool};
use hugetools_model::{FileError, Machine, Root};

use crate::console;
use crate::log::Log;

/// The whole program.
#[expect(clippy::disallowed_methods, reason = "the environment is read here")]
pub fn main() -> ExitCode {
    let argv = std::env::args_os().collect();
    ExitCode::from(run(argv, &|name| std::env::var_os(name)).code())
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
    let verbosity = args.verbose.unwrap_or(log.verbosity);
    log.verbosity = verbosity.saturating_add(args.more).min(99);
    if !args.shows() && !args.changes() {
        return usage(&log, "no option says what to do");
    }
    let root = match &args.sysroot {
        None => live(),
        Some(dir) => match Root::at(dir) {
            Ok(root) => root,
            Err(why) => return usage(&log, &format!("--sysroot: {why}")),
        },
    };
    let document = Document::new(args.dry_run);
    Run {
        args,
        root,
        log,
        document,
        status: Status::Done,
    }
    .all()
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

/// One run. Without `--json` everything is printed as it happens.
struct Run {
    args: Args,
    root: Root,
    log: Log,
    document: Document,
    status: Status,
}

impl Run {
    /// The order is libhugetlbfs': mounts and pools as they were, changes,
    /// page sizes as they are.
    fn all(mut self) -> Status {
        let change = match self.checked() {
            Ok(change) => change,
            Err(status) => return self.end(status),
        };
        if self.args.dry_run {
            self.export_verbosity();
        }
        let result = self.list_before().and_then(|()| {
            if let Some(plan) = change {
                self.change(&plan);
            }
            self.list_after()
        });
        if let Err(error) = result {
            self.error(&error.to_string());
            self.note_status(Status::Failed);
        }
        let status = self.status;
        self.end(status)
    }

    /// Checks everything before anything is printed or done.
    fn checked(&mut self) -> Result<Option<plan::Plan>, Status> {
        if !self.args.changes() {
            return Ok(None);
        }
        let machine = Machine::read(&self.root).map_err(|error| {
            self.error(&error.to_string());
            Status::Failed
        })?;
        let request = Request::new(&self.args, &machine, &find_group).map_err(|errors| {
            self.usage_errors(errors);
            Status::Usage
        })?;
        let plan = plan::plan(&machine, &request);
        for note in &plan.notes {
            self.log.warning(note);
        }
        self.document.notes.clone_from(&plan.notes);
        Ok(Some(plan))
    }

    /// What a child would find in its environment, as the classic dry run
    /// begins.
    fn export_verbosity(&mut self) {
        let verbosity = self.log.verbosity;
        if verbosity == 99 {
            self.out(&format!("{}='yes'\n", env::DEBUG));
        }
        self.out(&format!("{}='{verbosity}'\n", env::VERBOSE));
    }

    fn list_before(&mut self) -> Result<(), FileError> {
        if self.args.list_all_mounts {
            let rows: Vec<_> = self.mounts()?.iter().map(Into::into).collect();
            if rows.is_empty() {
                self.log
                    .warning("no hugetlbfs is mounted\n  hugeadm --create-global-mounts mounts one for each page size");
            }
            self.out(&listing::mount_list(&rows));
            self.document.mounts = Some(rows);
        }
        if self.args.pool_list {
            let rows: Vec<_> = self.pools()?.iter().map(Into::into).collect();
            if rows.is_empty() {
                self.log.warning("this machine offers no huge page size");
            }
            self.out(&listing::pool_list(&rows));
            self.document.pools = Some(rows);
        }
        Ok(())
    }

    fn change(&mut self, plan: &plan::Plan) {
        let tasks = if self.args.dry_run {
            self.out(&shell::script(plan, &self.root));
            apply::rehearse(plan, &self.root)
        } else {
            let mut effects = Live::new(self.root.clone());
            apply::apply(plan, &self.root, &mut effects)
        };
        for step in tasks.iter().flat_map(|task| &task.steps) {
            self.log.debug(&step.shell);
        }
        for message in report::messages(&tasks) {
            self.log.say(message.level as u8, &message.text);
        }
        self.note_status(report::status(&tasks));
        self.document.tasks = tasks;
    }

    fn list_after(&mut self) -> Result<(), FileError> {
        if self.args.page_sizes {
            let accessible = |point: &Path| accessible(&self.root, point);
            let sizes = listing::usable_sizes(&self.pools()?, &self.mounts()?, accessible);
            if sizes.is_empty() {
                self.log.info("no page size has both a pool and a mount");
            }
            self.out(&listing::size_lines(&sizes));
            self.document.page_sizes = Some(sizes);
        }
        if self.args.page_sizes_all {
            let sizes: Vec<_> = self.pools()?.iter().map(|pool| pool.size).collect();
            self.out(&listing::size_lines(&sizes));
            self.document.page_sizes_all = Some(sizes);
        }
        Ok(())
    }

    fn pools(&self) -> Result<Vec<Pool>, FileError> {
        pool::read(&self.root, &Meminfo::read(&self.root)?)
    }

    fn mounts(&self) -> Result<Vec<Mount>, FileError> {
        let mut mounts = mount::read(&self.root)?;
        mounts.retain(Mount::is_hugetlbfs);
        Ok(mounts)
    }

    fn out(&mut self, text: &str) {
        if !self.args.json {
            let status = print(&self.log, text);
            self.note_status(status);
        }
    }

    fn error(&mut self, text: &str) {
        self.log.error(text);
        self.document.errors.push(text.to_owned());
    }

    fn usage_errors(&mut self, errors: Vec<String>) {
        if let Some((last, others)) = errors.split_last() {
            for error in others {
                self.log.error(error);
            }
            usage(&self.log, last);
        }
        self.document.errors = errors;
    }

    fn note_status(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    fn end(mut self, status: Status) -> Status {
        if !self.args.json {
            return status;
        }
        self.document.status = status.code();
        match serde_json::to_string_pretty(&self.document) {
            Ok(json) => status.max(print(&self.log, &(json + "\n"))),
            Err(error) => {
                self.log
                    .error(&format!("cannot make the document: {error}"));
                status.max(Status::Failed)
            }
        }
    }
}
