//! The first rung for text, "the file's own pages": before the program starts,
//! the page cache is made to hold its text in huge pages, where the file system
//! has them. They are shared by all who run the file, cost no pool, and stay.
//!
//! A look tells whether it is so already; every start pays for that alone. Else
//! what is cached is let go and read anew, into huge pages. Where that did not
//! help it is not tried again for the same file, for a while. All of it is for
//! the best: whatever fails is said. Waiting for others, writing what is not on
//! disk yet, and reading each delay the start by a second at most.

mod attempt_log;

use std::io;
use std::time::Duration;

use hugetools_model::{Bytes, PageSize};

use super::effects::{Cached, Effects, Piece};
use crate::caller::Caller;
use crate::probe::coverage::page_cache::attempt_log::Memory;
use crate::probe::coverage::page_cache::{
    Job, Opened, Prepared, State, Why, describe, failed, open, prepared, short, sum,
};

/// For so long others are waited for, and writing, and each reading.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two attempts while others look, too.
const INTERVAL: Duration = Duration::from_millis(10);

/// How often others that look are waited for: they are done in a moment, and
/// who runs the file is not.
const ATTEMPTS: u32 = 3;

/// Prepares the page cache for one file.
pub(super) fn run(job: &Job, caller: &Caller, effects: &mut dyn Effects) -> Prepared {
    with_memory(job, &Memory::of(caller), effects)
}

fn with_memory(job: &Job, memory: &Memory, effects: &mut dyn Effects) -> Prepared {
    let start = effects.now();
    let state = match open(job) {
        Err(error) => failed(&error),
        Ok(opened) => Attempt {
            opened,
            size: job.size,
            memory,
            effects,
        }
        .run(),
    };
    let cost = effects.now().saturating_sub(start);
    prepared(job.clone(), state, cost)
}

fn piece(opened: &Opened, size: PageSize) -> Piece<'_> {
    Piece {
        file: &opened.file,
        parts: &opened.parts,
        size,
    }
}

struct Attempt<'a> {
    opened: Opened,
    size: PageSize,
    memory: &'a Memory,
    effects: &'a mut dyn Effects,
}

impl Attempt<'_> {
    fn run(mut self) -> State {
        if let Some(why) = self.memory.recall(&self.opened.identity) {
            return short(None, why);
        }
        match self.look() {
            Err(error) => failed(&error),
            Ok(cached) if self.is_whole(cached) => State::Ready,
            Ok(cached) => match self.prepare() {
                Ok(None) => State::Made,
                Ok(Some((cached, why))) => short(Some(cached.huge), why),
                Err(why) => short(Some(cached.huge), why),
            },
        }
    }

    /// One at a time; what it came to if that is not all.
    fn prepare(&mut self) -> Result<Option<(Cached, Why)>, Why> {
        let dir = attempt_log::open(self.memory).map_err(Why::NoMemory)?;
        let _lock = attempt_log::lock(&dir, PATIENCE, INTERVAL, self.effects)
            .map_err(|error| Why::NoMemory(format!("{}: {}", dir.display(), describe(&error))))?
            .ok_or(Why::Waited)?;
        let failed = |error: io::Error| Why::Failed(describe(&error));
        let before = self.look_alone().map_err(failed)?;
        if self.is_whole(before) {
            return Ok(None);
        }
        let piece = piece(&self.opened, self.size);
        self.effects.let_go(piece, PATIENCE).map_err(failed)?;
        let after = self.effects.fill(piece, PATIENCE).map_err(failed)?;
        if self.is_whole(after) {
            return Ok(None);
        }
        let none = after.huge == Bytes::default();
        let why = match none && before.shared.max(after.shared) == Bytes::default() {
            true => Why::FileSystem,
            false => Why::InUse,
        };
        attempt_log::remember(&dir, &self.opened.identity, &why);
        Ok(Some((after, why)))
    }

    /// Looks when others that look are done.
    fn look_alone(&mut self) -> io::Result<Cached> {
        let mut cached = self.look()?;
        for _ in 1..ATTEMPTS {
            if self.is_whole(cached) || cached.shared == Bytes::default() {
                break;
            }
            self.effects.pause(INTERVAL);
            cached = self.look()?;
        }
        Ok(cached)
    }

    fn look(&mut self) -> io::Result<Cached> {
        let piece = piece(&self.opened, self.size);
        self.effects.look(piece, PATIENCE)
    }

    fn is_whole(&self, cached: Cached) -> bool {
        cached.huge >= sum(&self.opened.parts)
    }
}

#[cfg(test)]
mod tests;
