//! The first rung for text: huge pages of the file in the page cache. `apply` fills them.

pub(crate) mod attempt_log;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use hugetools_model::{Bytes, PageSize};

use crate::caller::Caller;
use crate::files;

/// A file whose text may be on huge pages of the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The file.
    pub path: PathBuf,
    /// Its parts, in whole pages.
    pub parts: Vec<Range<u64>>,
    /// The size of these pages.
    pub size: PageSize,
}

/// How a file's text fares in the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The file.
    pub job: Job,
    /// How much can be huge.
    pub wanted: Bytes,
    /// The result.
    pub state: State,
    /// How long it took.
    pub cost: Duration,
}

/// The result for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All of it was huge already.
    Ready,
    /// All of it is huge now.
    Made,
    /// The start will show.
    Left,
    /// Not all of it is huge.
    Short {
        /// How much is, if known.
        huge: Option<Bytes>,
        /// Why.
        why: Why,
    },
}

/// Why not all of a file's text is huge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The file system has no huge pages in the page cache.
    FileSystem,
    /// Other processes use the file, or there was no huge page.
    InUse,
    /// Another hugectl held the lock for too long.
    Waited,
    /// No directory for the log of attempts: why.
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

/// Predicts the result by the log of earlier attempts. Changes nothing.
pub(crate) fn predict(job: Job, caller: &Caller) -> Prepared {
    let state = match open(&job) {
        Err(error) => failed(&error),
        Ok(opened) => match attempt_log::recall(caller, &opened.name) {
            Some(why) => short(None, why),
            None => State::Left,
        },
    };
    prepared(job, state, Duration::ZERO)
}

pub(crate) fn prepared(job: Job, state: State, cost: Duration) -> Prepared {
    Prepared {
        wanted: sum(&job.parts),
        job,
        state,
        cost,
    }
}

/// A file that is as long as its headers say.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// The name of its record.
    pub(crate) name: String,
}

pub(crate) fn open(job: &Job) -> io::Result<Opened> {
    let (file, metadata) = files::open_regular(&job.path)?;
    let whole = metadata.len() - metadata.len() % job.size.get();
    match job.parts.iter().all(|part| part.end <= whole) {
        true => Ok(Opened {
            file,
            name: attempt_log::name(&metadata),
        }),
        false => Err(io::Error::other("the file is shorter than its headers say")),
    }
}

pub(crate) fn sum(parts: &[Range<u64>]) -> Bytes {
    let sum = parts
        .iter()
        .fold(0u64, |sum, part| sum.saturating_add(part.end - part.start));
    Bytes::new(sum)
}

pub(crate) fn short(huge: Option<Bytes>, why: Why) -> State {
    State::Short { huge, why }
}

pub(crate) fn failed(error: &io::Error) -> State {
    short(None, Why::Failed(describe(error)))
}

pub(crate) fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => hugetools_model::root::error::describe_errno(errno),
        None if error.kind() == io::ErrorKind::TimedOut => "it takes too long".to_owned(),
        None => error.to_string(),
    }
}
