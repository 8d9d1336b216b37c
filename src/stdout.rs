//! Results on standard output, and the exit status of writing them.

use std::io;

use hugetools_model::root::error::describe;
use serde::Serialize;

use crate::console::out;
use crate::log::Log;

/// Writes text to standard output. Returns the exit status; logs an error if it is 1.
pub fn print(log: &Log, text: &str) -> u8 {
    written(log, out(text))
}

/// Writes a document as JSON to standard output. Returns the exit status.
pub fn out_json(log: &Log, document: &impl Serialize) -> u8 {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from);
    written(log, text.and_then(|text| out(&(text + "\n"))))
}

fn written(log: &Log, result: io::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            log.error(&unwritable(&error));
            1
        }
    }
}

/// Returns the message that standard output cannot be written.
pub fn unwritable(error: &io::Error) -> String {
    format!("cannot write to standard output: {}", describe(error))
}
