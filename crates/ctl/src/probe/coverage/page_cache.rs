//! The first rung for text, "the file's own pages": what the page cache is to hold of it
//! in huge pages, and what a start would begin with. `apply` does it.

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
    /// The parts of it, in whole pages.
    pub parts: Vec<Range<u64>>,
    /// The size of these pages.
    pub size: PageSize,
}

/// What the page cache has of a file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The file.
    pub job: Job,
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
    /// It is left to the start.
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

/// What a start would begin with; nothing is changed, nor looked at but the
/// memory of earlier starts.
pub(crate) fn foresee(job: Job, caller: &Caller) -> Prepared {
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

/// A file that was found to be what its headers say.
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
