//! What there is to say, with its level.

use crate::shortfall::Shortfall;

/// How much a message matters; the numbers are those of `--verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Whether a verbosity of 0 to 99 shows it.
    pub fn is_shown(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }
}

/// A message: a lower-case fragment on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: String,
    /// What falls short, where that is what it says.
    pub shortfall: Option<Box<Shortfall>>,
}

impl Note {
    fn new(level: Level, text: impl Into<String>) -> Note {
        Note {
            level,
            text: text.into(),
            shortfall: None,
        }
    }

    /// What falls short.
    pub(crate) fn short(level: Level, shortfall: Shortfall) -> Note {
        let text = shortfall.to_string();
        Note {
            shortfall: Some(Box::new(shortfall)),
            ..Note::new(level, text)
        }
    }

    /// What was asked cannot be done.
    pub fn error(text: impl Into<String>) -> Note {
        Note::new(Level::Error, text)
    }

    /// Less than asked is done.
    pub fn warning(text: impl Into<String>) -> Note {
        Note::new(Level::Warning, text)
    }

    /// What was found or decided.
    pub fn info(text: impl Into<String>) -> Note {
        Note::new(Level::Info, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_numbers_of_the_verbosity() {
        let note = Note::warning("the pool is empty");
        assert!(note.level.is_shown(2) && !note.level.is_shown(1));
        assert!(!Level::Error.is_shown(0));
    }
}
