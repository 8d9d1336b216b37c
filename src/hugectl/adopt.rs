//! `--pid`: adopts running programs.

use hugetools_ctl::adopt::{self, Adopted, Pace, Progress};
use hugetools_ctl::request::{Adopt, ProcessSelector};
use hugetools_ctl::say::failure::Failure;
use hugetools_ctl::status;
use hugetools_model::process::Pid;
use hugetools_model::{Head, Root};

use super::progress::ProgressLine;
use super::{LOG, TOOL, print, root};
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
        let pids = self.changeable(selected.pids, &mut warnings)?;
        let mut all = Vec::new();
        let mut first = None;
        for pid in pids {
            match self.adopt_or_predict(pid) {
                Ok(adopted) => all.push(adopted),
                // The process may have ended.
                Err(why) => {
                    warnings.push(why.to_string());
                    first.get_or_insert(why);
                }
            }
        }
        if let (true, Some(why)) = (all.is_empty(), first) {
            return Err(why);
        }
        let status = match all.iter().any(Adopted::is_short) {
            true => SHORT,
            false => 0,
        };
        Ok((self.text(&all, warnings, status), status))
    }

    /// Returns the processes that may be changed. Fails if none may, or if one that was given by its
    /// PID may not.
    fn changeable(&self, pids: Vec<Pid>, warnings: &mut Vec<String>) -> Result<Vec<Pid>, Failure> {
        if self.request.dry_run {
            return Ok(pids);
        }
        let mut good = Vec::new();
        let mut first = None;
        for pid in pids {
            let is_named = self.request.processes.contains(&ProcessSelector::Pid(pid));
            match adopt::check(pid) {
                Ok(()) => good.push(pid),
                Err(why) if is_named => return Err(why),
                Err(why) => {
                    warnings.push(why.to_string());
                    first.get_or_insert(why);
                }
            }
        }
        match first {
            Some(why) if good.is_empty() => Err(why),
            _ => Ok(good),
        }
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
