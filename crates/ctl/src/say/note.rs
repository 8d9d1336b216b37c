//! What there is to say, with its level.

pub use hugetools_contract::level::Level;

use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

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

    /// Whether what falls short is said of all of this memory.
    pub(crate) fn covers(&self, memory: Subject) -> bool {
        let short = self.shortfall.as_ref();
        short.is_some_and(|short| short.subject | memory == short.subject)
    }

    /// Says in the same line what keeps this memory from the next rung.
    pub(crate) fn and(&mut self, also: Shortfall) {
        if let Some(short) = &mut self.shortfall {
            short.and(also);
            self.text = short.to_string();
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
