//! `--apply`, `--rollback`, `--check`, `--save` and `--example-config`.

use std::path::Path;

use hugetools_admin::config::check::{self, Difference};
use hugetools_admin::config::source::{DEFAULT, Source};
use hugetools_admin::config::{EXAMPLE, record, requests, save};
use hugetools_admin::effects::Effects;
use hugetools_admin::live::Live;
use hugetools_admin::live::files;
use hugetools_admin::plan::{Plan, Refusal};
use hugetools_admin::report::{self, Failure, Status, hint};
use hugetools_admin::request::Request;
use hugetools_admin::request::boot::kernel;
use hugetools_contract::level::Level;
use hugetools_model::{FileError, KPath, Machine};

use super::run::Run;

impl Run {
    /// Plans `--apply` or `--rollback`.
    pub(super) fn file_plan(&mut self, machine: &Machine) -> Result<Plan, Status> {
        if let Some(path) = self.args.config.apply.clone() {
            let sources = self.sources(path.as_deref())?;
            return self.plan_of(&sources, machine, self.args.pools.force);
        }
        let found = record::plan(
            machine,
            self.args.pools.force,
            &mut Live::new(self.root.clone()),
        );
        match found {
            Ok(Some(plan)) => Ok(plan),
            Ok(None) => {
                let why = "there is nothing to roll back: no --apply has changed anything";
                Err(self.failed(Status::Failed, why))
            }
            Err(failure) => Err(self.failed(Status::Failed, &failure.error)),
        }
    }

    /// Adds notes to `--install-boot`: the kernel parameters for gigantic pages, or that there is
    /// no `hugetools.toml`.
    pub(super) fn add_boot_notes(
        &mut self,
        machine: &Machine,
        request: &mut Request,
    ) -> Result<(), Status> {
        let sources = files::read_config(None);
        let sources = sources.map_err(|error| self.failed(Status::Usage, &error))?;
        let mut pools = request.pool_min.clone();
        if sources.is_empty() {
            let note = format!("nothing is applied at boot: {}", no_file());
            request.notes.push(note);
        } else {
            let mut effects = Live::new(self.root.clone());
            let host = self.host();
            let file = requests::request(&sources, machine, host.as_deref(), &mut effects);
            let file = file.map_err(|error| self.failed(Status::Usage, &error))?;
            pools = [file.pool_min, pools].concat();
        }
        request.notes.extend(kernel::advice(machine, &pools));
        Ok(())
    }

    fn host(&self) -> Option<String> {
        let host = self
            .root
            .read_opt(&KPath::from("/proc/sys/kernel/hostname"));
        let host = String::from_utf8(host.ok().flatten()?).ok()?;
        Some(host.trim().to_owned()).filter(|host| !host.is_empty())
    }

    fn sources(&mut self, path: Option<&Path>) -> Result<Vec<Source>, Status> {
        match files::read_config(path) {
            Ok(sources) if sources.is_empty() => Err(self.failed(Status::Usage, &no_file())),
            Ok(sources) => Ok(sources),
            Err(error) => Err(self.failed(Status::Usage, &error)),
        }
    }

    fn plan_of(
        &mut self,
        sources: &[Source],
        machine: &Machine,
        force: bool,
    ) -> Result<Plan, Status> {
        let host = self.host();
        let mut effects = Live::new(self.root.clone());
        let plan = requests::plan(sources, machine, host.as_deref(), force, &mut effects);
        plan.map_err(|error| self.failed(Status::Usage, &error))
    }

    /// Runs a plan. `--apply` first records the present state.
    pub(super) fn carry_out(&mut self, plan: &Plan) {
        let mut effects = Live::new(self.root.clone());
        let root = self.root.clone();
        let (is_apply, is_dry) = (self.args.config.apply.is_some(), self.args.general.dry_run);
        let is_rollback = self.args.config.rollback;
        let mut change = |_: &mut dyn Effects| {
            self.change(plan);
            report::status(&self.document.tasks)
        };
        let done = match (is_dry, is_apply, is_rollback) {
            (false, true, _) => record::apply(plan, &root, &mut effects, &mut change),
            (false, _, true) => record::roll_back(&mut effects, &mut change),
            _ => {
                change(&mut effects);
                Ok(())
            }
        };
        if let Err(failure) = done {
            self.fail(&hint::with_advice(&failure, effects.is_root()));
        }
    }

    /// `--check`, `--save` and `--example-config`.
    pub(super) fn show_file(&mut self) -> Result<(), FileError> {
        let args = self.args.config.clone();
        if args.example_config {
            self.out(EXAMPLE);
        }
        if let Some(path) = args.check {
            match self.check_file(path.as_deref()) {
                Err(status) => self.note_status(status),
                Ok(differences) => self.show_differences(differences),
            }
        }
        if let Some(path) = args.save {
            let text = save::text(&Machine::read(&self.root)?);
            let path = path.filter(|_| !self.args.general.dry_run);
            match path.map(|path| files::write(&path, &text)) {
                None => self.out(&text),
                Some(Ok(())) => {}
                Some(Err(error)) => self.fail(&error),
            }
        }
        Ok(())
    }

    fn check_file(&mut self, path: Option<&Path>) -> Result<Vec<Difference>, Status> {
        let sources = self.sources(path)?;
        let machine = Machine::read(&self.root);
        let machine =
            machine.map_err(|error| self.failed(Status::Failed, &Failure::from(error).error))?;
        // A check takes no memory, so it omits no pool.
        let plan = self.plan_of(&sources, &machine, true)?;
        for note in &plan.notes {
            self.say(Level::Warning, note);
        }
        if let Some(Refusal::Impossible(why)) = &plan.refusal {
            return Err(self.failed(Status::Usage, why));
        }
        let mut effects = Live::new(self.root.clone());
        let found = check::differences(&plan, &self.root, &mut effects);
        if self.root.is_live() && !self.args.general.dry_run {
            record::note_check(&mut effects);
        }
        found.map_err(|failure| self.failed(Status::Failed, &failure.error))
    }

    fn show_differences(&mut self, differences: Vec<Difference>) {
        if !differences.is_empty() {
            self.note_status(Status::Differs);
        }
        let line = |it: &Difference| match &it.should {
            Some(should) => format!(
                "{}: is {}, should be {should} ({})\n",
                it.file, it.is, it.what
            ),
            None => format!("{}: {} ({})\n", it.file, it.is, it.what),
        };
        self.out(&differences.iter().map(line).collect::<String>());
        self.document.differences = Some(differences);
    }
}

fn no_file() -> String {
    format!("there is no {DEFAULT}\n  hugeadm --save={DEFAULT} writes the present state")
}
