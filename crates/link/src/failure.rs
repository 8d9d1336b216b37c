//! Errors with advice.

use std::fmt;
use std::io;
use std::path::Path;

use hugetools_model::root::error::describe;

/// An error: the file, the problem, and on a second line what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Creates an error with any text.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }

    /// Creates an error about a file.
    pub fn of(path: &Path, what: impl fmt::Display) -> Failure {
        Failure(format!("{}: {what}", path.display()))
    }

    /// Creates an error of the operating system about a file; `what` names the failed action.
    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> Failure {
        Failure::of(path, format_args!("{what}: {}", describe(error)))
    }

    /// Adds a line with advice.
    #[must_use]
    pub fn next(self, what: &str) -> Failure {
        Failure(format!("{}\n  {what}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
