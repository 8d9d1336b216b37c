//! The first rung for text, "the file's own pages": before the program starts,
//! the page cache is made to hold its text in huge pages, where the file system
//! has them. They are shared by all who run the file, cost no pool, and stay.
//!
//! A look tells whether it is so already; every start pays for that alone. Else
//! what is cached is let go and read anew, into huge pages. Where that did not
//! help it is not tried again for the same file, for a while. All of it is for
//! the best: whatever fails is said. Waiting for others, writing what is not on
//! disk yet, and reading each delay the start by a second at most.

mod memory;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use hugetools_model::{Bytes, PageSize};

use crate::caller::Caller;
use crate::effects::{Cached, Effects};
use crate::files;
use memory::{Identity, Memory};

/// For so long others are waited for, and writing, and each reading.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two attempts while others look, too.
const INTERVAL: Duration = Duration::from_millis(10);

/// How often others that look are waited for: they are done in a moment, and
/// who runs the file is not.
const ATTEMPTS: u32 = 3;

/// A file whose text may be on huge pages of the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The file.
    pub path: PathBuf,
    /// The parts of it, in whole pages.
    pub parts: Vec<Range<u64>>,
}

/// What the page cache has of a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The file.
    pub path: PathBuf,
    /// What can be huge.
    pub wanted: Bytes,
    /// How it went.
    pub state: State,
    /// What it cost the start.
    pub cost: Duration,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All was huge already.
    Ready,
    /// All is huge now.
    Made,
    /// A dry run leaves it to the start.
    Left,
    /// Not all is huge.
    Short {
        /// What is, if it was looked at.
        huge: Option<Bytes>,
        /// Why not all is.
        why: Why,
    },
}

/// Why not all is huge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The file system has no huge pages in the page cache.
    FileSystem,
    /// Other processes use it, or there was no huge page for it.
    InUse,
    /// Another hugectl was at it for too long.
    Waited,
    /// There is nowhere to remember what was tried: the reason.
    NoMemory(String),
    /// The kernel's reason.
    Failed(String),
}

impl Prepared {
    /// Whether the text needs no other huge pages.
    pub fn is_huge(&self) -> bool {
        !matches!(self.state, State::Short { .. })
    }
}

/// Prepares the page cache for one file.
pub(crate) fn run(
    job: &Job,
    size: PageSize,
    caller: &Caller,
    effects: &mut dyn Effects,
) -> Prepared {
    with_memory(job, size, &Memory::of(caller), effects)
}

/// What a start would begin with; nothing is changed, nor looked at but the
/// memory of earlier starts.
pub(crate) fn foresee(job: &Job, size: PageSize, caller: &Caller) -> Prepared {
    let state = match open(job, size) {
        Err(error) => failed(&error),
        Ok(opened) => match Memory::of(caller).recall(&opened.identity) {
            Some(why) => short(None, why),
            None => State::Left,
        },
    };
    prepared(job, state, Duration::ZERO)
}

fn with_memory(job: &Job, size: PageSize, memory: &Memory, effects: &mut dyn Effects) -> Prepared {
    let start = effects.now();
    let state = match open(job, size) {
        Err(error) => failed(&error),
        Ok(opened) => Attempt {
            opened,
            size,
            memory,
            effects,
        }
        .run(),
    };
    let cost = effects.now().saturating_sub(start);
    prepared(job, state, cost)
}

fn prepared(job: &Job, state: State, cost: Duration) -> Prepared {
    Prepared {
        path: job.path.clone(),
        wanted: sum(&job.parts),
        state,
        cost,
    }
}

/// A file that was found to be what its headers say.
struct Opened {
    file: File,
    identity: Identity,
    parts: Vec<Range<u64>>,
}

fn open(job: &Job, size: PageSize) -> io::Result<Opened> {
    let (file, metadata) = files::open_regular(&job.path)?;
    let whole = metadata.len() - metadata.len() % size.get();
    match job.parts.iter().all(|part| part.end <= whole) {
        true => Ok(Opened {
            file,
            identity: Identity::of(&metadata),
            parts: job.parts.clone(),
        }),
        false => Err(io::Error::other("the file is shorter than its headers say")),
    }
}

fn sum(parts: &[Range<u64>]) -> Bytes {
    let sum = parts
        .iter()
        .fold(0u64, |sum, part| sum.saturating_add(part.end - part.start));
    Bytes::new(sum)
}

fn short(huge: Option<Bytes>, why: Why) -> State {
    State::Short { huge, why }
}

fn failed(error: &io::Error) -> State {
    short(None, Why::Failed(describe(error)))
}

fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => hugetools_model::error::describe_errno(errno),
        None if error.kind() == io::ErrorKind::TimedOut => "it takes too long".to_owned(),
        None => error.to_string(),
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
        let dir = self.memory.open().map_err(Why::NoMemory)?;
        let _lock = memory::lock(&dir, PATIENCE, INTERVAL, self.effects)
            .map_err(|error| Why::NoMemory(format!("{}: {}", dir.display(), describe(&error))))?
            .ok_or(Why::Waited)?;
        let failed = |error: io::Error| Why::Failed(describe(&error));
        let before = self.look_alone().map_err(failed)?;
        if self.is_whole(before) {
            return Ok(None);
        }
        let (file, parts) = (&self.opened.file, &self.opened.parts);
        self.effects.let_go(file, parts, PATIENCE).map_err(failed)?;
        let (file, parts) = (&self.opened.file, &self.opened.parts);
        let after = self
            .effects
            .fill(file, parts, self.size, PATIENCE)
            .map_err(failed)?;
        if self.is_whole(after) {
            return Ok(None);
        }
        let none = after.huge == Bytes::default();
        let why = match none && before.shared.max(after.shared) == Bytes::default() {
            true => Why::FileSystem,
            false => Why::InUse,
        };
        self.memory.remember(&dir, &self.opened.identity, &why);
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
        self.effects
            .look(&self.opened.file, &self.opened.parts, self.size, PATIENCE)
    }

    fn is_whole(&self, cached: Cached) -> bool {
        cached.huge >= sum(&self.opened.parts)
    }
}

#[cfg(test)]
mod tests;
