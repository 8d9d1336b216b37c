//! One run: check, list, change, list again, say how it ended.

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
use hugetools_model::hugetlb::node;
use hugetools_model::{Machine, Root};

use super::{print, print_json, with_help};
use crate::log::Log;
use crate::terminal::dress;

/// One run. Without `--json` everything is printed as it happens.
pub(super) struct Run {
    pub(super) args: Args,
    pub(super) root: Root,
    pub(super) log: Log,
    pub(super) document: Document,
    status: Status,
    /// Whether all that was printed could be written.
    is_heard: bool,
}

impl Run {
    pub(super) fn new(args: Args, root: Root, log: Log) -> Run {
        let document = Document::new(args.general.dry_run);
        Run {
            args,
            root,
            log,
            document,
            status: Status::Done,
            is_heard: true,
        }
    }

    /// The order is libhugetlbfs': mounts and pools as they were, changes,
    /// page sizes and what there is to say as they are.
    pub(super) fn all(mut self) -> Status {
        let turn = match self.turn() {
            Ok(turn) => turn,
            Err(status) => return self.end(status),
        };
        let change = match self.checked() {
            Ok(change) => change,
            Err(status) => return self.end(status),
        };
        if self.args.general.dry_run {
            self.export_verbosity();
        }
        let result = self.list_before().and_then(|()| {
            if let Some(plan) = change {
                self.change(&plan);
            }
            drop(turn);
            self.list_after()
        });
        if let Err(error) = result {
            self.error(&error.to_string());
            self.note_status(Status::Failed);
        }
        let status = self.status;
        self.end(status)
    }

    /// Waits until no other hugeadm is at work, before anything is looked at.
    fn turn(&mut self) -> Result<Option<HeldLock>, Status> {
        if !self.args.changes() || self.args.general.dry_run {
            return Ok(None);
        }
        catch_signals();
        let log = self.log;
        let mut waiting = |holder: Option<u32>| {
            let holder = holder.map_or_else(String::new, |process| format!(", process {process}"));
            log.warning(&format!("waiting for another hugeadm{holder}"));
        };
        lock::take(&self.root, &mut waiting).map_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.error(&format!("cannot take the lock of hugeadm: {error}"));
            }
            Status::Failed
        })
    }

    /// Checks everything before anything is printed or done.
    fn checked(&mut self) -> Result<Option<Plan>, Status> {
        if !self.args.changes() {
            return Ok(None);
        }
        let machine = Machine::read(&self.root).map_err(|error| {
            self.error(&error.to_string());
            Status::Failed
        })?;
        let mut effects = Live::new(self.root.clone());
        let request = Request::new(&self.args, &machine, &mut effects).map_err(|errors| {
            self.usage_errors(errors);
            Status::Usage
        })?;
        let plan = plan::plan(&machine, &request);
        match &plan.refusal {
            None => {}
            Some(Refusal::Impossible(why)) => {
                self.usage_errors(vec![why.clone()]);
                return Err(Status::Usage);
            }
            Some(Refusal::Harmful(why)) => {
                self.error(why);
                return Err(Status::Failed);
            }
        }
        for note in &plan.notes {
            self.say(Level::Warning, note);
        }
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

    fn change(&mut self, plan: &Plan) {
        let tasks = if self.args.general.dry_run {
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
            self.say(message.level, &message.text);
        }
        self.note_status(report::status(&tasks));
        self.confirm(&tasks);
        self.document.tasks = tasks;
    }

    /// Tells a terminal what has changed, unless that was said already or is not to be.
    fn confirm(&mut self, tasks: &[TaskReport]) {
        let is_said = self.log.verbosity > env::DEFAULT_VERBOSITY;
        let is_quiet = self.log.verbosity < env::DEFAULT_VERBOSITY;
        if is_said || is_quiet || self.args.general.dry_run || !io::stdout().is_terminal() {
            return;
        }
        let pools = self.pools().unwrap_or_default();
        let nodes = node::read(&self.root).unwrap_or_default();
        let nodes: Vec<_> = nodes.iter().map(|node| node.id).collect();
        for line in report::confirmations(tasks, &report::Names::new(&pools, &nodes)) {
            self.out(&format!("{line}\n"));
        }
    }

    /// Prints what is not one of the classic listings, laid out for who reads it.
    pub(super) fn show(&mut self, text: &str) {
        self.out(&dress(text));
    }

    pub(super) fn out(&mut self, text: &str) {
        // What cannot be written is said once.
        if !self.args.general.json && self.is_heard {
            let status = print(&self.log, text);
            self.is_heard = status == Status::Done;
            self.note_status(status);
        }
    }

    /// Says something; with `--json`, the document says what is amiss.
    pub(super) fn say(&mut self, level: Level, text: &str) {
        let head = &mut self.document.head;
        match (self.args.general.json, level) {
            (true, Level::Error) => head.errors.push(text.to_owned()),
            (true, Level::Warning) => head.warnings.push(text.to_owned()),
            _ => self.log.say(level, text),
        }
    }

    fn error(&mut self, text: &str) {
        self.say(Level::Error, text);
    }

    fn usage_errors(&mut self, errors: Vec<String>) {
        if self.args.general.json {
            self.document.head.errors.extend(errors);
        } else if let Some((last, others)) = errors.split_last() {
            for error in others {
                self.log.error(error);
            }
            self.log.error(&with_help(last));
        }
    }

    fn note_status(&mut self, status: Status) {
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
