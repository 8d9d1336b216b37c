//! One run of a program.

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use hugetools_model::Root;

use crate::program::{Failed, Run, RunningProgram, failed};
use crate::server;
use crate::settings::Settings;
use crate::way::Way;

#[derive(Debug)]
pub(crate) struct Runner<'a> {
    settings: &'a Settings,
    root: &'a Root,
    /// The hash of the first run's output, with `--same-output`.
    first_output: Option<u64>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(settings: &'a Settings, root: &'a Root) -> Runner<'a> {
        Runner {
            settings,
            root,
            first_output: None,
        }
    }

    /// Runs the program once. Samples its memory only in a `warm_up`.
    pub(crate) fn run(&mut self, way: &Way, warm_up: bool) -> Result<Run, Failed> {
        let mut run = self.measure(way, warm_up)?;
        let output = std::mem::take(&mut run.output);
        if let Some(metric) = &self.settings.metric {
            let printed = String::from_utf8_lossy(&output);
            run.metric = metric.find(&printed);
            if run.metric.is_none() {
                let regex = metric.regex.as_str();
                let last = metric.regex.find_iter(&printed).last();
                let why = match last.map(|found| found.as_str()) {
                    Some(last) => format!("the last match of {regex:?} gives no number: {last:?}"),
                    None => format!("nothing that it printed matches {regex:?}"),
                };
                return Err(failed(way, 125, why, printed.into_owned()));
            }
        }
        if self.settings.same_output && self.differs(&output) {
            let why = "its output differs from that of plain's first run".to_owned();
            let output = String::from_utf8_lossy(&output).into_owned();
            return Err(failed(way, 125, why, output));
        }
        Ok(run)
    }

    /// Whether an output differs from the first one. Only its hash is kept.
    fn differs(&mut self, output: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        hasher.write(output);
        let hash = hasher.finish();
        *self.first_output.get_or_insert(hash) != hash
    }

    fn measure(&self, way: &Way, warm_up: bool) -> Result<Run, Failed> {
        let Settings { metric, server, .. } = self.settings;
        let keep = self.settings.same_output || metric.is_some() || server.is_some();
        if let Some(why) = server.as_ref().and_then(server::obstacle) {
            return Err(failed(way, 125, why, String::new()));
        }
        let program = RunningProgram::new(way.command(&self.settings.command), keep);
        let mut program = program.map_err(|error| not_started(way, &error))?;
        let sampled = warm_up.then_some((self.root, program.pid));
        let own = |error: io::Error| failed(way, 125, error.to_string(), String::new());
        let mut run = match server {
            Some(server) => server::drive(server, &mut program, sampled, way)?,
            None => program.finish(sampled).map_err(own)?,
        };
        let errors = program.errors().map_err(own)?;
        let status = program.status.unwrap_or_default();
        if server.is_none() && !status.success() {
            let printed = String::from_utf8_lossy(&run.output).into_owned() + &errors;
            return Err(failed(
                way,
                shell_status(status),
                status.to_string(),
                printed,
            ));
        }
        run.warning = warning(&errors).filter(|_| warm_up);
        Ok(run)
    }
}

fn warning(errors: &str) -> Option<String> {
    let warnings = errors
        .lines()
        .filter_map(|line| line.split_once(" warning: "));
    let mut ours = warnings.filter(|(prefix, _)| ["hugectl:", "libhugetlbfs:"].contains(prefix));
    ours.next().map(|(_, text)| text.to_owned())
}

fn not_started(way: &Way, error: &io::Error) -> Failed {
    let status = match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    };
    let why = error.to_string();
    failed(way, status, why, String::new())
}

/// Returns the exit status as a shell reports it.
fn shell_status(status: ExitStatus) -> u8 {
    let number = status.code().or(status.signal().map(|signal| 128 + signal));
    number
        .and_then(|number| u8::try_from(number).ok())
        .unwrap_or(125)
}
