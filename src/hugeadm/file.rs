//! `--apply`, `--rollback`, `--check`, `--save` and `--example-config`.

use std::path::Path;

use hugetools_admin::config::check::{self, Difference};
use hugetools_admin::config::source::DEFAULT;
use hugetools_admin::config::{EXAMPLE, record, requests, save};
use hugetools_admin::live::Live;
use hugetools_admin::live::files;
use hugetools_admin::plan::Plan;
use hugetools_admin::report::{self, Failure, Status};
use hugetools_admin::request::{Request, boot};
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

    /// Gives `--install-boot` the pools of the file. Without a file there is nothing to apply.
    pub(super) fn add_pools_of_the_file(
        &mut self,
        machine: &Machine,
        request: &mut Request,
    ) -> Result<(), Status> {
        let sources = match files::read_config(None) {
            Err(why) if !Path::new(DEFAULT).exists() => {
                request
                    .notes
                    .push(format!("nothing is applied at boot: {why}"));
                Ok(Vec::new())
            }
            sources => sources,
        };
        let mut effects = Live::new(self.root.clone());
        let host = self.host();
        let pools = sources.and_then(|sources| {
            requests::requests(&sources, machine, host.as_deref(), &mut effects)
        });
        let pools = pools.map_err(|error| {
            self.error(&error);
            Status::Usage
        })?;
        let pools = pools.first().map_or(&[][..], |pools| &pools.pool_min);
        boot::add_parameters(request, machine, pools, &mut effects);
        Ok(())
    }

    fn host(&self) -> Option<String> {
        let host = self
            .root
            .read_opt(&KPath::from("/proc/sys/kernel/hostname"));
        let host = String::from_utf8(host.ok().flatten()?).ok()?;
        Some(host.trim().to_owned()).filter(|host| !host.is_empty())
    }

    fn plan_of(&mut self, path: Option<&Path>, machine: &Machine) -> Result<Plan, Status> {
        let host = self.host();
        let mut effects = Live::new(self.root.clone());
        let force = self.args.pools.force;
        let plan = files::read_config(path).and_then(|sources| {
            requests::plan(&sources, machine, host.as_deref(), force, &mut effects)
        });
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
            Err(failure) => return self.fail(&failure.error),
        };
        self.change(plan);
        let is_done = report::status(&self.document.tasks) == Status::Done;
        let ended = match (is_recorded, self.args.config.rollback && is_done) {
            (true, _) => record::finish(&mut effects),
            (_, true) if !self.args.general.dry_run => record::remove(&mut effects),
            _ => Ok(()),
        };
        if let Err(failure) = ended {
            self.fail(&failure.error);
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
                Some(Err(error)) => self.fail(&error),
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
            Err(failure) => self.fail(&failure.error),
            Ok(differences) => {
                if self.root.is_live() {
                    record::note_check(&mut Live::new(self.root.clone()));
                }
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
