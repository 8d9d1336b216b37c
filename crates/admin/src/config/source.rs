//! Files and places in them.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::table::File;

/// The default file, and the directory of further ones.
pub const DEFAULT: &str = "/etc/hugetools/hugetools.toml";
/// See [`DEFAULT`].
pub const DIRECTORY: &str = "/etc/hugetools/hugetools.d";

/// One file.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    text: String,
    pub(super) file: File,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    path: PathBuf,
    line: usize,
    column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl Source {
    /// Parses a file.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn new(path: PathBuf, text: String) -> Result<Source, String> {
        let mut source = Source {
            path,
            text,
            file: File::default(),
        };
        match toml::from_str(&source.text) {
            Ok(file) => source.file = file,
            Err(error) => {
                let place = source.place(&error.span().unwrap_or(0..0));
                return Err(format!("{place}: {}", mistake(error.message())));
            }
        }
        Ok(source)
    }

    /// Returns the line and column of a range of bytes.
    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        Place {
            path: self.path.clone(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

/// Words a mistake with the key that may be meant.
fn mistake(message: &str) -> String {
    let message = message.trim_end().replace('\n', "; ");
    let mut words = message.split('`').skip(1).step_by(2);
    let (true, Some(key)) = (message.starts_with("unknown field"), words.next()) else {
        return message;
    };
    let keys: Vec<&str> = words.collect();
    let distance = |word: &&&str| strsim::damerau_levenshtein(key, word);
    match keys.iter().min_by_key(distance) {
        Some(best) if distance(&best) <= 2 => format!("unknown key {key}: {best}?"),
        _ => format!("unknown key {key}: the keys here are {}", keys.join(", ")),
    }
}
