//! `--apply`, `--rollback`, `--check`, `--save` and `--example-config`.

use std::path::Path;

use hugetools_admin::check::{self, Difference};
use hugetools_admin::config::{EXAMPLE, record, requests, save};
use hugetools_admin::live::Live;
use hugetools_admin::live::files;
use hugetools_admin::plan::Plan;
use hugetools_admin::report::{self, Failure, Status};
use hugetools_model::{FileError, KPath, Machine};

use super::run::Run;

impl Run {
    /// Plans `--apply` or `--rollback`.
    pub(super) fn file_plan(&mut self, machine: &Machine) -> Result<Plan, Status> {
        if let Some(path) = self.args.config.apply.clone() {
            return self.plan_of(path.as_deref(), machine);
        }
        let found = record::rollback(&mut Live::new(self.root.clone()));
        match found {
            Ok(Some(plan)) => Ok(plan),
            Ok(None) => {
                self.error("there is nothing to roll back: no --apply has changed anything");
                Err(Status::Failed)
            }
            Err(failure) => {
                self.error(&failure.error);
                Err(Status::Failed)
            }
        }
    }

    fn plan_of(&mut self, path: Option<&Path>, machine: &Machine) -> Result<Plan, Status> {
        let host = self
            .root
            .read_opt(&KPath::from("/proc/sys/kernel/hostname"));
        let host = host.ok().flatten().unwrap_or_default();
        let host = String::from_utf8_lossy(&host);
        let host = Some(host.trim()).filter(|host| !host.is_empty());
        let mut effects = Live::new(self.root.clone());
        let force = self.args.pools.force;
        let plan = files::read_config(path)
            .and_then(|sources| requests::plan(&sources, machine, host, force, &mut effects));
        plan.map_err(|error| {
            self.error(&error);
            Status::Usage
        })
    }

    /// Carries out a plan. Before `--apply` changes anything, it records how it was.
    pub(super) fn carry_out(&mut self, plan: &Plan) {
        let is_apply = self.args.config.apply.is_some() && !self.args.general.dry_run;
        let mut effects = Live::new(self.root.clone());
        let recorded = match is_apply {
            true => self.begin(plan, &mut effects),
            false => Ok(false),
        };
        let is_recorded = match recorded {
            Ok(is_recorded) => is_recorded,
            Err(failure) => return self.fail(&failure),
        };
        self.change(plan);
        let is_done = report::status(&self.document.tasks) == Status::Done;
        let ended = match (is_recorded, self.args.config.rollback && is_done) {
            (true, _) => record::finish(&mut effects),
            (_, true) if !self.args.general.dry_run => record::remove(&mut effects),
            _ => Ok(()),
        };
        if let Err(failure) = ended {
            self.fail(&failure);
        }
    }

    fn begin(&self, plan: &Plan, effects: &mut Live) -> Result<bool, Failure> {
        if check::differences(plan, &self.root, effects)?.is_empty() {
            return Ok(false);
        }
        let machine = Machine::read(&self.root)?;
        record::begin(plan, &machine, &self.root, effects)?;
        Ok(true)
    }

    fn fail(&mut self, failure: &Failure) {
        self.error(&failure.error);
        self.note_status(Status::Failed);
    }

    /// `--check`, `--save` and `--example-config`.
    pub(super) fn show_file(&mut self) -> Result<(), FileError> {
        let args = self.args.config.clone();
        if args.example_config {
            self.out(EXAMPLE);
        }
        if args.check.is_none() && args.save.is_none() {
            return Ok(());
        }
        let machine = Machine::read(&self.root)?;
        if let Some(path) = args.check {
            self.check_file(path.as_deref(), &machine);
        }
        if let Some(path) = args.save {
            let text = save::text(&machine);
            match path.map(|path| files::write_config(&path, &text)) {
                None => self.out(&text),
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.error(&error);
                    self.note_status(Status::Failed);
                }
            }
        }
        Ok(())
    }

    fn check_file(&mut self, path: Option<&Path>, machine: &Machine) {
        let plan = match self.plan_of(path, machine) {
            Ok(plan) => plan,
            Err(status) => return self.note_status(status),
        };
        match check::differences(&plan, &self.root, &mut Live::new(self.root.clone())) {
            Err(failure) => self.fail(&failure),
            Ok(differences) => {
                if !differences.is_empty() {
                    self.note_status(Status::Differs);
                }
                let line = |it: &Difference| {
                    format!(
                        "{}: is {}, should be {} ({})\n",
                        it.file, it.is, it.should, it.what
                    )
                };
                self.out(&differences.iter().map(line).collect::<String>());
                self.document.differences = Some(differences);
            }
        }
    }
}
