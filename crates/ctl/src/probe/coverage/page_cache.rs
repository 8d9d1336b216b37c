//! Predicts which text the page cache can hold on huge pages. `apply::page_cache` puts it there.

pub(crate) mod attempt_log;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use hugetools_model::root::error::describe;
use hugetools_model::{Bytes, PageSize};

use crate::caller::Caller;
use crate::files;

/// The text of a file, which the page cache may hold on huge pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    /// File offsets; multiples of `size`.
    pub(crate) parts: Vec<Range<u64>>,
    pub(crate) size: PageSize,
}

/// A file's text in the page cache, as predicted or after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedText {
    pub(crate) text: TextFile,
    /// The length of all parts.
    pub(crate) wanted: Bytes,
    pub(crate) state: State,
}

/// How much of a file's text is on huge pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// All of it was on huge pages before the attempt.
    Ready,
    /// The attempt put all of it on huge pages.
    Filled,
    /// Not tried yet; `apply` will try.
    Untried,
    /// Part of it is on base pages.
    Short {
        /// Bytes on huge pages, if known.
        huge: Option<Bytes>,
        why: Why,
    },
}

/// Why part of a file's text is on base pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The file system doesn't support huge pages in the page cache.
    FileSystem,
    /// Other processes map the file, or no huge page was free. A retry may succeed.
    Temporary,
    /// An error, in words.
    Failed(String),
}

impl CachedText {
    pub(crate) fn new(text: TextFile, state: State) -> CachedText {
        CachedText {
            wanted: total_len(&text.parts),
            text,
            state,
        }
    }

    /// Whether all of the text is on huge pages, or no attempt was made yet.
    pub(crate) fn may_be_huge(&self) -> bool {
        !matches!(self.state, State::Short { .. })
    }
}

/// Predicts the result from the log of earlier attempts. Changes nothing.
pub(crate) fn predict(text: TextFile, caller: &Caller) -> CachedText {
    let state = match open(&text) {
        Err(error) => failed(&error),
        Ok(opened) => match attempt_log::recall(caller, &opened.record) {
            Some(why) => short(None, why),
            None => State::Untried,
        },
    };
    CachedText::new(text, state)
}

/// An open file, at least as long as its headers say.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// The name of its record in the log of attempts.
    pub(crate) record: String,
}

pub(crate) fn open(text: &TextFile) -> io::Result<Opened> {
    let (file, metadata) = files::open_regular(&text.path)?;
    let whole = metadata.len() - metadata.len() % text.size.get();
    match text.parts.iter().all(|part| part.end <= whole) {
        true => Ok(Opened {
            file,
            record: attempt_log::name(&metadata),
        }),
        false => Err(io::Error::other("the file is shorter than its headers say")),
    }
}

pub(crate) fn total_len(parts: &[Range<u64>]) -> Bytes {
    let len = parts
        .iter()
        .fold(0u64, |len, part| len.saturating_add(part.end - part.start));
    Bytes::new(len)
}

pub(crate) fn short(huge: Option<Bytes>, why: Why) -> State {
    State::Short { huge, why }
}

pub(crate) fn failed(error: &io::Error) -> State {
    short(None, Why::Failed(describe(error)))
}
