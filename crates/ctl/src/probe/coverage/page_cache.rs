//! Text on huge pages of its file in the page cache. `apply` fills them.

pub(crate) mod attempt_log;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use hugetools_model::root::error::describe;
use hugetools_model::{Bytes, PageSize};

use crate::caller::Caller;
use crate::files;

/// A file whose text may be on huge pages of the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    pub(crate) parts: Vec<Range<u64>>,
    pub(crate) size: PageSize,
}

/// A file's text in the page cache, after an attempt or a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) text: TextFile,
    /// Bytes in whole huge pages.
    pub(crate) wanted: Bytes,
    pub(crate) state: State,
}

/// The result for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// All of it was huge already.
    Ready,
    /// All of it is huge now.
    Filled,
    /// Not tried yet; `apply` will try.
    Untried,
    /// Not all of it is huge.
    Short {
        /// Bytes on huge pages, if known.
        huge: Option<Bytes>,
        why: Why,
    },
}

/// Why not all of a file's text is huge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The file system has no huge pages in the page cache.
    FileSystem,
    /// Other processes use the file, or no huge page was free.
    InUse,
    /// The attempt failed; the reason.
    Failed(String),
}

impl Prepared {
    /// Whether all of the text is on huge pages, or was not tried yet.
    pub(crate) fn is_huge(&self) -> bool {
        !matches!(self.state, State::Short { .. })
    }
}

/// Predicts the result by the log of earlier attempts. Changes nothing.
pub(crate) fn predict(text: TextFile, caller: &Caller) -> Prepared {
    let state = match open(&text) {
        Err(error) => failed(&error),
        Ok(opened) => match attempt_log::recall(caller, &opened.name) {
            Some(why) => short(None, why),
            None => State::Untried,
        },
    };
    prepared(text, state)
}

pub(crate) fn prepared(text: TextFile, state: State) -> Prepared {
    Prepared {
        wanted: sum(&text.parts),
        text,
        state,
    }
}

/// An open file, at least as long as its headers say.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// The name of its record in the log of attempts.
    pub(crate) name: String,
}

pub(crate) fn open(text: &TextFile) -> io::Result<Opened> {
    let (file, metadata) = files::open_regular(&text.path)?;
    let whole = metadata.len() - metadata.len() % text.size.get();
    match text.parts.iter().all(|part| part.end <= whole) {
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
