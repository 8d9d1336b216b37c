//! What there is to say, with its level.

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
