//! The destination of the report, and warnings about missing reports.

use hugetools_contract::env;

use super::Maker;
use crate::args::TERMINAL;
use crate::probe::library::Found;
use crate::wait::ReportDestination;

/// Programs that start others as their children.
const STARTERS: &str = "mpiexec mpirun script srun strace time timeout xargs";

impl Maker<'_> {
    pub(super) fn report(&mut self) {
        if self.run.report.is_none() {
            return;
        }
        match &self.findings.report {
            Some(path) => self.set(env::REPORT, path.clone()),
            None => {
                self.set(env::REPORT, TERMINAL);
                self.set_process(env::REPORT_PID);
                match self.run.json {
                    true => self.set(env::REPORT_JSON, "yes"),
                    false if self.caller.var(env::REPORT_JSON).is_some() => {
                        self.set(env::REPORT_JSON, "no");
                    }
                    false => {}
                }
            }
        }
        self.describe_report();
    }

    /// Warns if a report will be missing or incomplete.
    fn describe_report(&mut self) {
        let is_file = self.findings.report.is_some();
        if self.is_left_out && !is_file {
            let list = self.list_name();
            self.warn(format!(
                "no report will be made: {list} does not name the program; --report=FILE reports \
                 the programs that it names"
            ));
        } else if self.run.dry_run || self.is_left_out {
            self.warn(
                "no report comes from a program that is killed by a signal or written in Go: \
                 hugectl is not its parent",
            );
        } else if self.findings.look.is_static()
            || matches!(self.findings.library, None | Some(Found::Missing(_)))
        {
            self.warn(
                "no library is added to the program: unless it is linked with ours, the report is \
                 hugectl's last sample",
            );
        } else if let Some(name) = self.starter().filter(|_| !is_file) {
            self.warn(format!(
                "the report covers only {name}: for its children, run {name} ... hugectl --report \
                 PROGRAM, or use --report=FILE"
            ));
        }
    }

    /// Returns the program's name if it is one of [`STARTERS`].
    pub(super) fn starter(&self) -> Option<String> {
        let program = self.run.command.first()?.to_string_lossy();
        let name = program.rsplit('/').next()?;
        let mut starters = STARTERS.split(' ');
        starters.any(|one| one == name).then(|| name.to_owned())
    }

    /// Returns the destination of the report if hugectl waits for the program.
    pub(super) fn watched(&self) -> Option<ReportDestination> {
        if self.is_left_out || self.run.report.is_none() {
            return None;
        }
        Some(match &self.findings.report {
            Some(path) => ReportDestination::File(path.clone()),
            None => ReportDestination::Terminal {
                json: self.run.json,
            },
        })
    }
}
