//! Progress on standard error, if that is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::console;

/// Time between two updates.
const PERIOD: Duration = Duration::from_millis(100);

/// A line that is erased when it is dropped.
pub(super) struct ProgressLine {
    is_shown: bool,
    last: Instant,
}

impl ProgressLine {
    pub(super) fn new(is_wanted: bool) -> ProgressLine {
        ProgressLine {
            is_shown: is_wanted && io::stderr().is_terminal(),
            last: Instant::now(),
        }
    }

    /// Replaces the text of the line, if the last update is old enough.
    pub(super) fn show(&mut self, text: &str) {
        if self.is_shown && self.last.elapsed() >= PERIOD {
            self.last = Instant::now();
            console::err(&format!("\r{text}\x1b[K"));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            console::err("\r\x1b[K");
        }
    }
}
