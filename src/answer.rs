//! What a tool answers on standard output, and the status that comes of it.

use std::io;

use serde::Serialize;

use crate::console::{Reader, out};
use crate::log::Log;

/// Writes text to standard output; the status that comes of it, 1 where it cannot be
/// written, which the log says.
pub fn print(log: &Log, text: &str) -> u8 {
    written(log, out(text))
}

/// The same of a document, as JSON.
pub fn out_json(log: &Log, document: &impl Serialize) -> u8 {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from);
    written(log, text.and_then(|text| out(&(text + "\n"))))
}

fn written(log: &Log, result: io::Result<Reader>) -> u8 {
    match result {
        Ok(_) => 0,
        Err(error) => {
            log.error(&format!("cannot write to standard output: {error}"));
            1
        }
    }
}
