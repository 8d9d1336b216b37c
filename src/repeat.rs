//! `--watch`: prints the same view repeatedly. A terminal is redrawn. Elsewhere an empty line
//! separates tables, and each JSON document is one line.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::console::{Reader, out};
use crate::terminal::lay_out;

/// Moves the cursor home and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Why a watch ended.
pub(crate) enum End<E> {
    /// The reader of standard output is gone.
    Unread,
    /// The view failed; the flag is whether an earlier one succeeded.
    Failed(E, bool),
    /// Standard output cannot be written.
    Unwritten(io::Error),
}

/// Prints the view every `time`, until the view or the output fails.
pub(crate) fn repeat<E>(
    time: Duration,
    json: bool,
    mut look: impl FnMut() -> Result<String, E>,
) -> End<E> {
    let is_drawn = io::stdout().is_terminal() && !json;
    let mut seen = false;
    loop {
        let before = match (json, is_drawn, seen) {
            (true, _, _) | (_, false, false) => "",
            (_, true, _) => CLEAR,
            (_, false, true) => "\n",
        };
        let text = match look() {
            Ok(text) if json => text,
            Ok(text) => format!("{before}{}", lay_out(&text)),
            Err(why) => return End::Failed(why, seen),
        };
        match out(&text) {
            Ok(Reader::Present) => {}
            Ok(Reader::Gone) => return End::Unread,
            Err(error) => return End::Unwritten(error),
        }
        seen = true;
        std::thread::sleep(time);
    }
}
