//! Resizes pools. The kernel accepts any number and allocates as many pages as it can. Compaction,
//! dropped caches and retries can find more.

use std::time::Duration;

use hugetools_model::hugetlb::node::node_surplus_path;
use hugetools_model::hugetlb::pool::surplus_path;
use hugetools_model::{KPath, Root};

use super::Run;
use super::numbers::number;
use crate::plan::shell::grow::{DROP_CACHES, PAUSE, TRIES};
use crate::report::{Failure, Outcome};
use crate::step::{Effort, Pages, Write};

impl Run<'_> {
    /// Resizes a pool, or a node's share, to `asked` pages. Returns [`Outcome::Short`] if it ends
    /// up with another number.
    pub(super) fn resize(
        &mut self,
        write: &Write,
        pages: &Pages,
        before: u64,
        asked: u64,
    ) -> Result<Outcome, Failure> {
        let mut resize = Resize {
            write,
            asked,
            tried: Vec::new(),
        };
        let surplus = surplus(pages, self.root);
        let mut got = resize.attempt(self.root)?;
        if let (Some(effort), true) = (&pages.effort, self.root.has_kernel()) {
            got = resize.retry_with_effort(effort, got, self)?;
        }
        if asked < before {
            got += surplus_since(surplus, pages, self.root);
        }
        match got == asked {
            true => Ok(Outcome::changed(before, got)),
            false => Ok(Outcome::Short {
                asked,
                got,
                tried: resize.tried,
                interrupted: self.effects.interrupted(),
            }),
        }
    }

    /// Whether pages are missing and the user hasn't interrupted.
    fn should_retry(&mut self, got: u64, asked: u64) -> bool {
        got < asked && !self.effects.interrupted()
    }
}

/// Returns the surplus pages of a pool, or of a node's share.
fn surplus(pages: &Pages, root: &Root) -> u64 {
    let path = match pages.node {
        None => surplus_path(pages.size),
        Some(node) => node_surplus_path(node, pages.size),
    };
    root.number_opt(&path).ok().flatten().unwrap_or(0)
}

/// Returns how many surplus pages a pool gained while it shrank. Pages in use become surplus pages
/// until they are freed.
fn surplus_since(before: u64, pages: &Pages, root: &Root) -> u64 {
    match root.has_kernel() {
        true => surplus(pages, root).saturating_sub(before),
        false => 0,
    }
}

struct Resize<'a> {
    write: &'a Write,
    asked: u64,
    /// Further attempts so far, or their errors, for the report.
    tried: Vec<String>,
}

impl Resize<'_> {
    /// Writes the number and returns the resulting number of pages. EINTR is no error: a signal
    /// ends the kernel's search early.
    fn attempt(&self, root: &Root) -> Result<u64, Failure> {
        match root.write(&self.write.path, &self.asked.to_string()) {
            Err(error) if error.errno() != Some(libc::EINTR) => Err(error.into()),
            _ => Ok(number(&self.write.path, root)?),
        }
    }

    /// Retries while pages are missing: after compaction, after dropping caches, at intervals.
    fn retry_with_effort(
        &mut self,
        effort: &Effort,
        mut got: u64,
        run: &mut Run<'_>,
    ) -> Result<u64, Failure> {
        if run.should_retry(got, self.asked) {
            self.trigger(&effort.compact, run.root);
            got = self.attempt(run.root)?;
        }
        if !effort.hard && effort.time.is_zero() {
            return Ok(got);
        }
        if effort.hard && run.should_retry(got, self.asked) {
            run.effects.sync();
            self.trigger(&KPath::from(DROP_CACHES), run.root);
            self.trigger(&effort.compact, run.root);
            got = self.attempt(run.root)?;
        }
        let mut tries = TRIES;
        let mut left = effort.time;
        while (tries > 0 || !left.is_zero()) && run.should_retry(got, self.asked) {
            let pause = Duration::from_secs(PAUSE);
            run.effects.pause(pause);
            self.note_attempt("repeated attempts".to_owned());
            left = left.saturating_sub(pause);
            self.trigger(&effort.compact, run.root);
            let now = self.attempt(run.root)?;
            tries = match now > got {
                true => TRIES,
                false => tries.saturating_sub(1),
            };
            got = now;
        }
        Ok(got)
    }

    /// Writes 1 to a file that frees or compacts memory. Errors are only reported,
    /// because old kernels lack some of these files.
    fn trigger(&mut self, path: &KPath, root: &Root) {
        match root.write(path, "1") {
            Ok(()) => self.note_attempt(path.to_string()),
            Err(error) => self.note_attempt(error.to_string()),
        }
    }

    fn note_attempt(&mut self, attempt: String) {
        if !self.tried.contains(&attempt) {
            self.tried.push(attempt);
        }
    }
}
