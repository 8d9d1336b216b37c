//! Messages on standard error. The verbosity selects the levels to show.

use hugetools_contract::env::DEFAULT_VERBOSITY;
use hugetools_contract::level::Level;

use crate::console;

/// A tool's log.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// The tool.
    pub tool: &'static str,
    /// The highest level that is shown.
    pub verbosity: u8,
}

impl Log {
    /// A log at the default verbosity: warnings and errors.
    pub(crate) const fn new(tool: &'static str) -> Log {
        Log {
            tool,
            verbosity: DEFAULT_VERBOSITY,
        }
    }

    /// Logs a failure.
    pub fn error(&self, text: &str) {
        self.say(Level::Error, text);
    }

    /// Logs a warning.
    pub fn warning(&self, text: &str) {
        self.say(Level::Warning, text);
    }

    /// Logs a message.
    pub fn say(&self, level: Level, text: &str) {
        if level.is_shown(self.verbosity) {
            let level = level.name();
            console::err(&format!("{}: {level}: {text}\n", self.tool));
        }
    }
}
