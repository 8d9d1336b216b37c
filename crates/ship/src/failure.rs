//! Errors with advice.

use std::fmt;
use std::path::Path;

/// An error, and an optional second line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    what: String,
    next: Option<String>,
}

impl Failure {
    /// An error without advice.
    pub fn new(what: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            next: None,
        }
    }

    /// An error about a file.
    pub(crate) fn of(path: &Path, why: impl fmt::Display) -> Failure {
        Failure::new(format!("{}: {why}", path.display()))
    }

    /// Adds advice.
    #[must_use]
    pub fn next(self, next: impl Into<String>) -> Failure {
        Failure {
            next: Some(next.into()),
            ..self
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(next) => write!(f, "\n  {next}"),
            None => Ok(()),
        }
    }
}
