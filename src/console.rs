//! The only module that prints. A closed pipe is no failure.

use std::io::{self, Write};

/// Writes text to standard output, for pipes and terminals alike.
///
/// # Errors
/// When the output cannot be written, except that its reader has gone.
pub fn out(text: &str) -> io::Result<()> {
    out_bytes(text.as_bytes())
}

/// Writes bytes to standard output, which need be no text.
///
/// # Errors
/// As [`out`].
pub fn out_bytes(bytes: &[u8]) -> io::Result<()> {
    write_all(&mut io::stdout().lock(), bytes)
}

/// Writes text to standard error. There is nowhere to report a failure to.
pub fn err(text: &str) {
    let _ = write_all(&mut io::stderr().lock(), text.as_bytes());
}

fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
