//! Errors with advice.

use std::fmt;
use std::path::Path;

/// An error; its second line says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Returns an error without advice.
    pub fn new(what: impl Into<String>) -> Failure {
        Failure(what.into())
    }

    /// Returns an error about a file.
    pub(crate) fn of(path: &Path, why: impl fmt::Display) -> Failure {
        Failure(format!("{}: {why}", path.display()))
    }

    /// Adds advice.
    #[must_use]
    pub fn advise(self, advice: impl fmt::Display) -> Failure {
        Failure(format!("{self}\n  {advice}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
