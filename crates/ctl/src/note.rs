//! What there is to say, with its level.

use std::fmt;

/// How much a message matters; the numbers are those of `--verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What was asked cannot be done.
    Error = 1,
    /// Less than asked is done.
    Warning = 2,
    /// What was found and decided.
    Info = 3,
    /// How.
    Debug = 4,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warning => "WARNING",
            Level::Info => "INFO",
            Level::Debug => "DEBUG",
        }
    }

    /// Whether a verbosity of 0 to 99 shows it.
    pub fn is_shown(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }
}

/// A message: a lower-case fragment on one line.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: String,
}

impl Note {
    /// What was asked cannot be done.
    pub fn error(text: impl Into<String>) -> Note {
        Note {
            level: Level::Error,
            text: text.into(),
        }
    }

    /// Less than asked is done.
    pub fn warning(text: impl Into<String>) -> Note {
        Note {
            level: Level::Warning,
            text: text.into(),
        }
    }

    /// What was found or decided.
    pub fn info(text: impl Into<String>) -> Note {
        Note {
            level: Level::Info,
            text: text.into(),
        }
    }
}

impl fmt::Display for Note {
    /// As it goes to standard error, without the line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hugectl: {}: {}", self.level.word(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_classic_form() {
        let note = Note::warning("the pool is empty");
        assert_eq!(note.to_string(), "hugectl: WARNING: the pool is empty");
        assert!(note.level.is_shown(2) && !note.level.is_shown(1));
        assert!(!Level::Error.is_shown(0));
    }
}
