//! `--pid`: adopts running programs.

use hugetools_ctl::adopt::{self, Adopted, Pace, Progress};
use hugetools_ctl::request::{Adopt, ProcessSelector};
use hugetools_ctl::say::failure::Failure;
use hugetools_ctl::status;
use hugetools_model::process::Pid;
use hugetools_model::{Head, Root};

use super::progress::ProgressLine;
use super::{LOG, TOOL, each, print, root};
use crate::log::Log;

/// The exit status if less memory became huge than possible.
const SHORT: u8 = 3;

/// Adopts the requested processes. Returns the exit status.
pub(super) fn adopt(request: &Adopt, verbosity: u8) -> Result<u8, Failure> {
    let root = root(request.sysroot.as_deref())?;
    let mut work = Work {
        root: &root,
        request,
        pace: Pace::new(request.budget),
        log: Log { verbosity, ..LOG },
    };
    let (text, status) = work.adopt_all()?;
    print(&text).map(|()| status)
}

struct Work<'w> {
    root: &'w Root,
    request: &'w Adopt,
    pace: Pace,
    log: Log,
}

impl Work<'_> {
    /// Adopts all processes. Returns the output and the exit status.
    fn adopt_all(&mut self) -> Result<(String, u8), Failure> {
        let (processes, children) = (&self.request.processes, self.request.children);
        let selected = status::select(self.root, processes, children)?;
        let mut warnings = Vec::new();
        let is_named = |pid| processes.contains(&ProcessSelector::Pid(pid));
        let mut pids = selected.pids;
        if !self.request.dry_run {
            let check = |pid| adopt::check(pid).map(|()| pid);
            pids = each(pids, is_named, &mut warnings, check)?;
        }
        // A named process that ends meanwhile is no failure: others have changed already.
        let adopt = |pid| self.adopt_or_predict(pid);
        let all = each(pids, |_| false, &mut warnings, adopt)?;
        let status = match all.iter().any(Adopted::is_short) {
            true => SHORT,
            false => 0,
        };
        Ok((self.text(&all, warnings, status), status))
    }

    fn adopt_or_predict(&mut self, pid: Pid) -> Result<Adopted, Failure> {
        if self.request.dry_run {
            return adopt::predict(self.root, pid, self.request);
        }
        let mut line = ProgressLine::new(!self.request.json && self.log.verbosity >= 2);
        let mut progress = |Progress { done, all }: Progress| {
            line.show(&format!(
                "process {pid}: {} of {} MB",
                done >> 20,
                all >> 20
            ));
        };
        let pace = &mut self.pace;
        adopt::adopt(self.root, pid, self.request, pace, &mut progress)
    }

    fn text(&self, all: &[Adopted], warnings: Vec<String>, status: u8) -> String {
        if self.request.json {
            let head = Head {
                status,
                warnings,
                ..Head::new(TOOL)
            };
            return status::document(&head, all);
        }
        warnings.iter().for_each(|text| self.log.warning(text));
        let tables: Vec<String> = all.iter().map(Adopted::to_text).collect();
        tables.join("\n")
    }
}
