//! The only module that prints. A closed pipe is no failure.

use std::io::{self, Write};

/// Writes text to standard output, for pipes and terminals alike.
///
/// # Errors
/// When the output cannot be written, except that its reader has gone.
pub fn out(text: &str) -> io::Result<()> {
    write_all(&mut io::stdout().lock(), text)
}

/// Writes text to standard error. There is nowhere to report a failure to.
pub fn err(text: &str) {
    let _ = write_all(&mut io::stderr().lock(), text);
}

fn write_all(to: &mut impl Write, text: &str) -> io::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
