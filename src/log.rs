//! Messages on standard error: a level each, shown up to the verbosity.

use crate::console;

/// The names of the levels; 0 is no message at all.
const LEVELS: [&str; 5] = ["", "ERROR", "WARNING", "INFO", "DEBUG"];

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
    /// Level 1: something failed.
    pub fn error(&self, text: &str) {
        self.say(1, text);
    }

    /// Level 2: not all is as it was asked for.
    pub fn warning(&self, text: &str) {
        self.say(2, text);
    }

    /// Level 3: what was done.
    pub fn info(&self, text: &str) {
        self.say(3, text);
    }

    /// Level 4: how it was done.
    pub fn debug(&self, text: &str) {
        self.say(4, text);
    }

    /// A message of some level.
    pub fn say(&self, level: u8, text: &str) {
        if let (true, Some(name)) = (level <= self.verbosity, LEVELS.get(usize::from(level))) {
            console::err(&format!("{}{name}: {text}\n", self.prefix));
        }
    }
}
