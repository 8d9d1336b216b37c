//! Why nothing came of it.

use std::fmt;
use std::io;
use std::path::Path;

use hugetools_model::root::error::describe_errno;

/// Why nothing came of it: what is wrong with which file, and on a second line
/// what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Any text.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }

    /// What is wrong with a file.
    pub fn of(path: &Path, what: impl fmt::Display) -> Failure {
        Failure(format!("{}: {what}", path.display()))
    }

    /// The same, with what to do next.
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

/// An error of the system without the number that the library appends.
pub(crate) fn told(error: &io::Error) -> String {
    let errno = error.raw_os_error();
    errno.map_or_else(|| error.to_string(), describe_errno)
}
