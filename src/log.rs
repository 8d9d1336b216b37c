//! Messages on standard error: a level each, shown up to the verbosity.

use hugetools_contract::level::Level;

use crate::console;

/// Where messages go.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// What stands before the level: the tool's name, a colon, and for some
    /// tools a blank.
    pub prefix: &'static str,
    /// The highest level that is shown.
    pub verbosity: u8,
}

impl Log {
    /// Something failed.
    pub fn error(&self, text: &str) {
        self.say(Level::Error, text);
    }

    /// Not all is as it was asked for.
    pub fn warning(&self, text: &str) {
        self.say(Level::Warning, text);
    }

    /// What was done.
    pub fn info(&self, text: &str) {
        self.say(Level::Info, text);
    }

    /// How it was done.
    pub fn debug(&self, text: &str) {
        self.say(Level::Debug, text);
    }

    /// A message of some level.
    pub fn say(&self, level: Level, text: &str) {
        if level.is_shown(self.verbosity) {
            console::err(&format!("{}{}: {text}\n", self.prefix, level.name()));
        }
    }
}
