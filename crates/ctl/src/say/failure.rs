//! Failures: hugectl ends without running the program.

use std::fmt;

use hugetools_model::FileError;

/// Why the program was not started, or nothing could be printed. The exit statuses are
/// those of `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// 125: hugectl itself failed.
    Own(String),
    /// 126: the program exists but cannot be run.
    CannotRun(String),
    /// 127: there is no such program.
    NotFound(String),
}

impl Failure {
    /// Returns the exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Own(_) => 125,
            Failure::CannotRun(_) => 126,
            Failure::NotFound(_) => 127,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Own(text) | Failure::CannotRun(text) | Failure::NotFound(text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for Failure {}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure::Own(error.to_string())
    }
}
