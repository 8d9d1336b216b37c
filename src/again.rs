//! `--watch`: the same look again and again. A terminal is drawn anew; elsewhere tables
//! follow each other, an empty line between them, and documents, one line each.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::console::{Reader, out};
use crate::terminal::dress;

/// Home, and everything gone.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Why it ended.
pub(crate) enum End<E> {
    /// Nobody reads any more.
    Unread,
    /// The look failed; whether another one had not.
    Failed(E, bool),
    /// The output cannot be written.
    Unwritten(io::Error),
}

/// Looks and prints, until one of both is not possible any more.
pub(crate) fn again<E>(
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
            Ok(text) => format!("{before}{}", dress(&text)),
            Err(why) => return End::Failed(why, seen),
        };
        match out(&text) {
            Ok(Reader::There) => {}
            Ok(Reader::Gone) => return End::Unread,
            Err(error) => return End::Unwritten(error),
        }
        seen = true;
        std::thread::sleep(time);
    }
}
