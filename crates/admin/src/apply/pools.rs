//! Pools that change their size. The kernel takes any number and finds as many
//! pages as it can; what it did not find at once may be had with some effort.

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

/// As many bytes of pages at a time, where they are made in pieces.
const PIECE: u64 = 512 << 20;

impl Run<'_> {
    /// Makes a pool have so many pages, or as many of them as there can be.
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
            pieces: grows && self.effects.growth_begins(&growth),
            tried: Vec::new(),
        };
        let lent = lent(pages, self.root);
        let got = resize.all(self);
        if grows {
            self.effects.growth_ends();
        }
        let mut got = got?;
        if !grows {
            got += lent_since(lent, pages, self.root);
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

/// The pages that a pool has beyond its persistent ones.
fn lent(pages: &Pages, root: &Root) -> u64 {
    let path = match pages.node {
        None => surplus_path(pages.size),
        Some(node) => node_surplus_path(node, pages.size),
    };
    root.number_opt(&path).ok().flatten().unwrap_or(0)
}

/// Pages that are in use leave a pool that shrinks only when they are free: the
/// kernel counts them as surplus meanwhile.
fn lent_since(before: u64, pages: &Pages, root: &Root) -> u64 {
    match root.has_kernel() {
        true => lent(pages, root).saturating_sub(before),
        false => 0,
    }
}

struct Resize<'a> {
    write: &'a Write,
    pages: &'a Pages,
    asked: u64,
    /// Whether to write in pieces, for somebody watches.
    pieces: bool,
    /// What was tried, for the report.
    tried: Vec<String>,
}

impl Resize<'_> {
    fn all(&mut self, run: &mut Run<'_>) -> Result<u64, Failure> {
        let got = self.attempt(run)?;
        match &self.pages.effort {
            Some(effort) if run.root.has_kernel() => self.insist(effort, got, run),
            _ => Ok(got),
        }
    }

    /// Makes for the number, and says how many pages there are then.
    fn attempt(&self, run: &mut Run<'_>) -> Result<u64, Failure> {
        if !self.pieces {
            return self.write(self.asked, run);
        }
        let piece = (PIECE / self.pages.size.get()).max(1);
        let mut got = number(&self.write.file, run.root)?;
        while run.wants_more(got, self.asked) {
            let next = got.saturating_add(piece).min(self.asked);
            got = self.write(next, run)?;
            run.effects.growth_at(got);
            if got < next {
                break;
            }
        }
        Ok(got)
    }

    /// A signal ends the kernel's search early, which is no error.
    fn write(&self, number: u64, run: &Run<'_>) -> Result<u64, Failure> {
        match run.root.write(&self.write.file.path, &number.to_string()) {
            Err(error) if error.errno() != Some(libc::EINTR) => Err(error.into()),
            _ => Ok(numbers::number(&self.write.file, run.root)?),
        }
    }

    /// Tries for the missing pages.
    fn insist(&mut self, effort: &Effort, mut got: u64, run: &mut Run<'_>) -> Result<u64, Failure> {
        if run.wants_more(got, self.asked) {
            self.press(&effort.compact, run);
            got = self.attempt(run)?;
        }
        if !effort.hard {
            return Ok(got);
        }
        if run.wants_more(got, self.asked) {
            run.effects.sync();
            self.press(&KPath::from(DROP_CACHES), run);
            self.press(&effort.compact, run);
            got = self.attempt(run)?;
        }
        if let (Some(swap), true) = (&effort.swap, run.wants_more(got, self.asked)) {
            self.add_swap(swap, run);
        }
        let mut tries = TRIES;
        while tries > 0 && run.wants_more(got, self.asked) {
            run.effects.pause(Duration::from_secs(PAUSE));
            self.press(&effort.compact, run);
            let now = self.attempt(run)?;
            tries = if now > got { TRIES } else { tries - 1 };
            got = now;
        }
        self.tried("repeated attempts".to_owned());
        Ok(got)
    }

    /// Writes 1 to a file that frees or joins memory. A kernel without it has
    /// nothing to offer here.
    fn press(&mut self, path: &KPath, run: &Run<'_>) {
        match run.root.write(path, "1") {
            Ok(()) => self.tried(path.to_string()),
            Err(error) => self.tried(error.to_string()),
        }
    }

    /// The step that takes it back is in the plan, whether it comes to be or
    /// not. A disk that it would fill is left alone.
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
                self.tried(format!(
                    "no swap: only {room} MB are free in {}",
                    dir.display()
                ));
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
