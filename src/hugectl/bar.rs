//! A progress bar on standard error, if that is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::console;
use crate::terminal::width;

/// Columns of the bar.
const WIDTH: usize = 30;

/// Time between two updates.
const PERIOD: Duration = Duration::from_millis(100);

/// A bar that is erased when it is dropped.
pub(super) struct Bar {
    is_drawn: bool,
    is_on_screen: bool,
    last: Instant,
}

impl Bar {
    pub(super) fn new(is_wanted: bool) -> Bar {
        Bar {
            is_drawn: is_wanted && io::stderr().is_terminal(),
            is_on_screen: false,
            last: Instant::now(),
        }
    }

    /// Shows a bar between two texts, if the last update is old enough. `done` is from 0 to 1.
    pub(super) fn show(&mut self, before: &str, done: f64, after: &str) {
        if !self.is_drawn || self.last.elapsed() < PERIOD {
            return;
        }
        self.last = Instant::now();
        self.is_on_screen = true;
        let is_filled = |at: &usize| (*at as f64) < done * WIDTH as f64;
        let filled = (0..WIDTH).filter(is_filled).count();
        let (full, empty) = ("#".repeat(filled), "-".repeat(WIDTH - filled));
        let line = format!("{before}[{full}{empty}] {after}");
        // In the last column, erasing the rest of the line would erase the last character.
        let columns = width(io::stderr()).map_or(usize::MAX, |columns| columns - 1);
        let line: String = line.chars().take(columns).collect();
        console::err(&format!("\r{line}\x1b[K"));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_on_screen {
            console::err("\r\x1b[K");
        }
    }
}
