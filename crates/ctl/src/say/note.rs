//! Messages with their level.

pub use hugetools_contract::level::Level;

use crate::say::shortfall::Shortfall;

/// A message without a full stop at its end. A second line is advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: String,
    /// The shortfall that it reports.
    pub(crate) shortfall: Option<Box<Shortfall>>,
}

impl Note {
    fn new(level: Level, text: impl Into<String>) -> Note {
        Note {
            level,
            text: text.into(),
            shortfall: None,
        }
    }

    /// Reports a shortfall.
    pub(crate) fn short(level: Level, shortfall: Shortfall) -> Note {
        let text = shortfall.to_string();
        Note {
            shortfall: Some(Box::new(shortfall)),
            ..Note::new(level, text)
        }
    }

    /// The request cannot be met.
    pub fn error(text: impl Into<String>) -> Note {
        Note::new(Level::Error, text)
    }

    /// Less than requested is done.
    pub fn warning(text: impl Into<String>) -> Note {
        Note::new(Level::Warning, text)
    }

    /// A finding or a decision.
    pub fn info(text: impl Into<String>) -> Note {
        Note::new(Level::Info, text)
    }
}
