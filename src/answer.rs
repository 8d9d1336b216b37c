//! What a tool answers on standard output, and the status that comes of it.

use std::io;

use hugetools_model::root::error::describe_errno;
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
            unwritable(log, &error);
            1
        }
    }
}

/// Says that standard output cannot be written.
pub fn unwritable(log: &Log, error: &io::Error) {
    let cause = cause(error);
    log.error(&format!("cannot write to standard output: {cause}"));
}

/// What has kept something from being written, as in `no space left on device (ENOSPC)`.
pub fn cause(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => describe_errno(errno),
        None => error.to_string(),
    }
}
