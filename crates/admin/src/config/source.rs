//! Configuration files, with the keys and positions that messages name.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::table::File;

/// The default file.
pub const DEFAULT: &str = "/etc/hugetools/hugetools.toml";
/// The directory of further files.
pub const DIRECTORY: &str = "/etc/hugetools/hugetools.d";

/// Messages show at most this many characters of a key and its value.
const MAX_SHOWN_CHARS: usize = 60;

/// A configuration file.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    text: String,
    pub(super) file: File,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    path: PathBuf,
    line: usize,
    column: usize,
}

/// A key with its value as written, and the position of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) place: Place,
    text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => self.place.fmt(f),
            text => write!(f, "{}: {text}", self.place),
        }
    }
}

impl Source {
    /// Parses a file. An error is the first mistake, with its position.
    pub fn new(path: PathBuf, text: String) -> Result<Source, String> {
        let mut source = Source {
            path,
            text,
            file: File::default(),
        };
        source.file = toml::from_str(&source.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let line = source.text.lines().nth(source.place(&span).line - 1);
            let line = line.and_then(|line| line.split(" #").next());
            let key = Key {
                place: source.place(&span),
                text: short(line.unwrap_or("").trim()),
            };
            let why = error.message().trim_end().replace('\n', "; ");
            format!("{key}: {}", printable(&why))
        })?;
        Ok(source)
    }

    /// Returns a key whose value is in this range of bytes.
    pub(super) fn key(&self, name: &str, span: &Range<usize>) -> Key {
        let value = self.text.get(span.clone()).unwrap_or("");
        Key {
            place: self.place(span),
            text: short(&format!("{name} = {value}")),
        }
    }

    fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        Place {
            path: self.path.clone(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

/// Replaces control characters, which a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// Returns the first line of a text, at most [`MAX_SHOWN_CHARS`] characters.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    let shown = printable(&shown);
    match line.len() < text.len() || line.chars().count() > MAX_SHOWN_CHARS {
        true => shown + " ...",
        false => shown,
    }
}
