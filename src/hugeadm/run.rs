//! One run: check, list, change, list again, report.

use std::io::{self, IsTerminal};

use hugetools_admin::apply;
use hugetools_admin::args::Args;
use hugetools_admin::document::Document;
use hugetools_admin::live::lock::{self, HeldLock};
use hugetools_admin::live::{Live, catch_signals, caught_signal};
use hugetools_admin::plan::{self, Plan, Refusal, shell};
use hugetools_admin::report::{self, Status, TaskReport};
use hugetools_admin::request::Request;
use hugetools_contract::env;
use hugetools_contract::level::Level;
use hugetools_model::{Machine, Root};

use super::{print, print_json};
use crate::log::Log;
use crate::terminal::lay_out;

/// One run. Without `--json`, it prints immediately.
pub(super) struct Run {
    pub(super) args: Args,
    pub(super) root: Root,
    pub(super) log: Log,
    pub(super) document: Document,
    /// Whether no option says what to do: the run shows an overview.
    pub(super) is_idle: bool,
    status: Status,
    /// Whether all output so far could be written.
    is_output_ok: bool,
}

impl Run {
    pub(super) fn new(args: Args, root: Root, log: Log) -> Run {
        let document = Document::new(args.general.dry_run);
        Run {
            args,
            root,
            log,
            document,
            is_idle: false,
            status: Status::Done,
            is_output_ok: true,
        }
    }

    /// Runs in libhugetlbfs' order: old mounts and pools, changes, page sizes, new state.
    pub(super) fn run_all(mut self) -> Status {
        let turn = match self.take_turn() {
            Ok(turn) => turn,
            Err(status) => return self.end(status),
        };
        let change = match self.check() {
            Ok(change) => change,
            Err(status) => return self.end(status),
        };
        let result = self.list_before().and_then(|()| {
            if let Some(plan) = change {
                self.carry_out(&plan);
            }
            drop(turn);
            self.list_after()
        });
        if let Err(error) = result {
            self.fail(&error.to_string());
        }
        let status = self.status;
        self.end(status)
    }

    /// Waits for other runs of hugeadm, before this one reads any state.
    fn take_turn(&mut self) -> Result<Option<HeldLock>, Status> {
        if !self.args.changes() || self.args.general.dry_run {
            return Ok(None);
        }
        let log = self.log;
        let mut waiting = || log.warning("waiting for another hugeadm");
        let turn = lock::take(&self.root, &mut waiting).map_err(|error| {
            let why = format!("cannot take the lock of hugeadm: {error}");
            self.failed(Status::Failed, &why)
        })?;
        // Not before: a signal may kill a run that only waits.
        catch_signals();
        Ok(turn)
    }

    /// Checks the whole request before anything is printed or changed.
    fn check(&mut self) -> Result<Option<Plan>, Status> {
        for note in self.args.idle_options() {
            self.say(Level::Warning, &note);
        }
        if !self.args.changes() {
            return Ok(None);
        }
        let machine = Machine::read(&self.root);
        let machine = machine.map_err(|error| self.failed(Status::Failed, &error.to_string()))?;
        let plan = match self.args.config.changes() {
            true => self.file_plan(&machine)?,
            false => self.options_plan(&machine)?,
        };
        match &plan.refusal {
            None => {}
            Some(Refusal::Impossible(why)) => return Err(self.failed(Status::Usage, why)),
            Some(Refusal::Harmful(why)) => return Err(self.failed(Status::Failed, why)),
        }
        for note in &plan.notes {
            self.say(Level::Warning, note);
        }
        Ok(Some(plan))
    }

    fn options_plan(&mut self, machine: &Machine) -> Result<Plan, Status> {
        let mut effects = Live::new(self.root.clone());
        let request = Request::new(&self.args, machine, &mut effects);
        let mut request = request.map_err(|errors| {
            errors.iter().for_each(|error| self.error(error));
            Status::Usage
        })?;
        if self.args.config.install_boot {
            self.add_boot_notes(machine, &mut request)?;
        }
        Ok(plan::plan(machine, &request))
    }

    pub(super) fn change(&mut self, plan: &Plan) {
        let tasks = if self.args.general.dry_run {
            self.out(&shell::script(plan, &self.root));
            apply::rehearse(plan, &self.root)
        } else {
            let mut effects = Live::new(self.root.clone());
            apply::apply(plan, &self.root, &mut effects)
        };
        for step in tasks.iter().flat_map(|task| &task.steps) {
            self.log.say(Level::Debug, &step.shell);
        }
        for message in report::messages(&tasks) {
            self.say(message.level, &message.text);
        }
        self.note_status(report::status(&tasks));
        self.confirm(&tasks);
        self.document.tasks = tasks;
    }

    /// Prints the changes on a terminal at the default verbosity, except in a dry run.
    fn confirm(&mut self, tasks: &[TaskReport]) {
        let is_logged = self.log.verbosity > env::DEFAULT_VERBOSITY;
        let is_quiet = self.log.verbosity < env::DEFAULT_VERBOSITY;
        if is_logged || is_quiet || self.args.general.dry_run || !io::stdout().is_terminal() {
            return;
        }
        for line in report::confirmations(tasks) {
            self.out(&format!("{line}\n"));
        }
    }

    /// Prints text other than the classic listings, laid out for the terminal.
    pub(super) fn show(&mut self, text: &str) {
        self.out(&lay_out(text));
    }

    pub(super) fn out(&mut self, text: &str) {
        // Report a write error only once.
        if !self.args.general.json && self.is_output_ok {
            let status = print(&self.log, text);
            self.is_output_ok = status == Status::Done;
            self.note_status(status);
        }
    }

    /// Logs a message; with `--json` it goes into the document.
    pub(super) fn say(&mut self, level: Level, text: &str) {
        let head = &mut self.document.head;
        match (self.args.general.json, level) {
            (true, Level::Error) => head.errors.push(text.to_owned()),
            (true, Level::Warning) => head.warnings.push(text.to_owned()),
            _ => self.log.say(level, text),
        }
    }

    pub(super) fn fail(&mut self, text: &str) {
        self.error(text);
        self.note_status(Status::Failed);
    }

    pub(super) fn error(&mut self, text: &str) {
        self.say(Level::Error, text);
    }

    /// Reports an error and returns the status.
    pub(super) fn failed(&mut self, status: Status, why: &str) -> Status {
        self.error(why);
        status
    }

    pub(super) fn note_status(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    fn end(mut self, status: Status) -> Status {
        if !self.args.general.json {
            return status;
        }
        let signal = caught_signal().and_then(|signal| u8::try_from(signal).ok());
        self.document.head.status = signal.map_or(status.code(), |signal| 128 + signal);
        status.max(print_json(&self.log, &self.document))
    }
}
