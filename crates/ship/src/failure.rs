//! What goes wrong: a fragment, and a second line that says what to do next.

use std::fmt;
use std::path::Path;

/// Why nothing was installed or packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    what: String,
    next: Option<String>,
}

impl Failure {
    /// A failure without advice.
    pub fn new(what: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            next: None,
        }
    }

    /// What an operation on a file gave.
    pub(crate) fn of(path: &Path, why: impl fmt::Display) -> Failure {
        Failure::new(format!("{}: {why}", path.display()))
    }

    /// The same, with what to do next.
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
