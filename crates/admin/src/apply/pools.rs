//! Resizes pools. The kernel accepts any number and allocates as many pages as it can.
//! More effort can find further pages.

use std::time::Duration;

use hugetools_model::hugetlb::node::node_surplus_path;
use hugetools_model::hugetlb::pool::surplus_path;
use hugetools_model::{KPath, Root};

use super::Run;
use super::numbers::{self, number};
use crate::effects::Growth;
use crate::plan::shell::grow::{DROP_CACHES, PAUSE, TRIES};
use crate::plan::swap_directories;
use crate::report::{Failure, Outcome};
use crate::step::{Effort, Pages, Swap, Write};

/// Bytes of pages to allocate per write while a progress bar is shown.
const CHUNK: u64 = 512 << 20;

impl Run<'_> {
    /// Resizes a pool to a number of pages, or to as many as possible.
    pub(super) fn resize(
        &mut self,
        write: &Write,
        pages: &Pages,
        before: u64,
        asked: u64,
    ) -> Result<Outcome, Failure> {
        let growth = Growth {
            size: pages.size,
            from: before,
            to: asked,
        };
        let grows = asked > before;
        let mut resize = Resize {
            write,
            pages,
            asked,
            in_chunks: grows && self.effects.growth_begins(&growth),
            tried: Vec::new(),
        };
        let surplus = surplus(pages, self.root);
        let got = resize.all(self);
        if grows {
            self.effects.growth_ends();
        }
        let mut got = got?;
        if !grows {
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

    fn wants_more(&mut self, got: u64, asked: u64) -> bool {
        got < asked && !self.effects.interrupted()
    }
}

/// The surplus pages of a pool.
fn surplus(pages: &Pages, root: &Root) -> u64 {
    let path = match pages.node {
        None => surplus_path(pages.size),
        Some(node) => node_surplus_path(node, pages.size),
    };
    root.number_opt(&path).ok().flatten().unwrap_or(0)
}

/// Surplus pages that a shrinking pool gained. The kernel counts pages in use as
/// surplus until they are free.
fn surplus_since(before: u64, pages: &Pages, root: &Root) -> u64 {
    match root.has_kernel() {
        true => surplus(pages, root).saturating_sub(before),
        false => 0,
    }
}

struct Resize<'a> {
    write: &'a Write,
    pages: &'a Pages,
    asked: u64,
    /// Whether to write in chunks because a progress bar is shown.
    in_chunks: bool,
    /// Attempted measures, for the report.
    tried: Vec<String>,
}

impl Resize<'_> {
    fn all(&mut self, run: &mut Run<'_>) -> Result<u64, Failure> {
        let got = self.attempt(run)?;
        match &self.pages.effort {
            Some(effort) if run.root.has_kernel() => self.retry_with_effort(effort, got, run),
            _ => Ok(got),
        }
    }

    /// Writes the number and returns the resulting number of pages.
    fn attempt(&self, run: &mut Run<'_>) -> Result<u64, Failure> {
        if !self.in_chunks {
            return self.write(self.asked, run);
        }
        let chunk = (CHUNK / self.pages.size.get()).max(1);
        let mut got = number(&self.write.file, run.root)?;
        while run.wants_more(got, self.asked) {
            let next = got.saturating_add(chunk).min(self.asked);
            got = self.write(next, run)?;
            run.effects.growth_at(got);
            if got < next {
                break;
            }
        }
        Ok(got)
    }

    /// A signal ends the kernel's search early (EINTR), which is no error.
    fn write(&self, number: u64, run: &Run<'_>) -> Result<u64, Failure> {
        match run.root.write(&self.write.file.path, &number.to_string()) {
            Err(error) if error.errno() != Some(libc::EINTR) => Err(error.into()),
            _ => Ok(numbers::number(&self.write.file, run.root)?),
        }
    }

    /// Tries again for the missing pages, with rising effort.
    fn retry_with_effort(
        &mut self,
        effort: &Effort,
        mut got: u64,
        run: &mut Run<'_>,
    ) -> Result<u64, Failure> {
        if run.wants_more(got, self.asked) {
            self.trigger(&effort.compact, run);
            got = self.attempt(run)?;
        }
        if !effort.hard {
            return Ok(got);
        }
        if run.wants_more(got, self.asked) {
            run.effects.sync();
            self.trigger(&KPath::from(DROP_CACHES), run);
            self.trigger(&effort.compact, run);
            got = self.attempt(run)?;
        }
        if let (Some(swap), true) = (&effort.swap, run.wants_more(got, self.asked)) {
            self.add_swap(swap, run);
        }
        let mut tries = TRIES;
        while tries > 0 && run.wants_more(got, self.asked) {
            run.effects.pause(Duration::from_secs(PAUSE));
            self.trigger(&effort.compact, run);
            let now = self.attempt(run)?;
            tries = if now > got { TRIES } else { tries - 1 };
            got = now;
        }
        self.tried("repeated attempts".to_owned());
        Ok(got)
    }

    /// Writes 1 to a file that frees or compacts memory. Errors are only reported,
    /// because old kernels lack some of these files.
    fn trigger(&mut self, path: &KPath, run: &Run<'_>) {
        match run.root.write(path, "1") {
            Ok(()) => self.tried(path.to_string()),
            Err(error) => self.tried(error.to_string()),
        }
    }

    /// Adds temporary swap unless it would take more than half of the free disk
    /// space. The plan has a later step that removes it again.
    fn add_swap(&mut self, swap: &Swap, run: &mut Run<'_>) {
        for step in swap_directories(&swap.path) {
            if let Outcome::Failed(failure) = run.step(&step) {
                return self.tried(failure.error);
            }
        }
        let size = swap.size.unwrap_or_default();
        let dir = swap.path.parent().unwrap_or(&swap.path);
        match run.effects.room(dir) {
            Ok(room) if room.get() / 2 < size.get() => {
                let room = room.get() >> 20;
                self.tried(format!("no swap: only {room} MB free in {}", dir.display()));
            }
            _ => match run.swap_on(swap) {
                Ok(_) => self.tried(format!("{size} of temporary swap")),
                Err(failure) => self.tried(failure.error),
            },
        }
    }

    fn tried(&mut self, what: String) {
        if !self.tried.contains(&what) {
            self.tried.push(what);
        }
    }
}
