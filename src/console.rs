//! Output to standard output and standard error; no other module prints. A closed pipe is
//! not an error.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use crate::ignored_signals::IgnoredSignals;
use crate::terminal::wrap_message;

/// Writes text to standard output.
pub fn out(text: &str) -> io::Result<()> {
    out_bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub fn out_bytes(bytes: &[u8]) -> io::Result<()> {
    let _ignored = IgnoredSignals::begin();
    write_all(&mut Output, bytes)
}

/// Writes directly to file descriptor 1. The standard library discards output to a closed
/// descriptor without an error.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file for messages, if it is not standard error.
static MESSAGE_FILE: OnceLock<Arc<File>> = OnceLock::new();

/// Redirects messages to a file.
pub fn redirect_messages(file: Arc<File>) {
    let _ = MESSAGE_FILE.set(file);
}

/// Writes a message to the file or to standard error. Ignores errors: they can't be reported, and
/// hugectl must still start the program.
pub fn err(text: &str) {
    let _ignored = IgnoredSignals::begin();
    let _ = match MESSAGE_FILE.get() {
        Some(file) => write_all(&mut &**file, text.as_bytes()),
        None => write_all(&mut io::stderr().lock(), wrap_message(text).as_bytes()),
    };
}

fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
