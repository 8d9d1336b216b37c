//! An end without the program having run.

use std::fmt;

/// Why the program was not started, or nothing could be shown. The statuses
/// are those of `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// hugectl itself failed: 125.
    Own(String),
    /// The program is there and cannot be run: 126.
    CannotRun(String),
    /// There is no such program: 127.
    NotFound(String),
}

impl Failure {
    /// The exit status.
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
