//! The only module that prints. A closed pipe is no failure.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use crate::quiet::Quiet;

/// Who reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Somebody.
    There,
    /// Nobody any more.
    Gone,
}

/// Writes text to standard output, for pipes and terminals alike.
///
/// # Errors
/// When the output cannot be written, except that its reader has gone.
pub fn out(text: &str) -> io::Result<Reader> {
    out_bytes(text.as_bytes())
}

/// Writes bytes to standard output, which need be no text.
///
/// # Errors
/// As [`out`].
pub fn out_bytes(bytes: &[u8]) -> io::Result<Reader> {
    let _quiet = Quiet::begin();
    write_all(&mut Output, bytes)
}

/// Standard output as the kernel has it: that of the library counts what is written to a
/// closed one as written.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where messages go instead of standard error.
static ELSEWHERE: OnceLock<Arc<File>> = OnceLock::new();

/// Has messages go to a file instead of standard error, from now on.
pub fn keep_messages(file: Arc<File>) {
    let _ = ELSEWHERE.set(file);
}

/// Writes text where messages go: to standard error, if nothing else was said. There is
/// nowhere to report a failure to, and whoever is about to become another program must
/// not end by it.
pub fn err(text: &str) {
    let _quiet = Quiet::begin();
    let _ = match ELSEWHERE.get() {
        Some(file) => write_all(&mut &**file, text.as_bytes()),
        None => write_all(&mut io::stderr().lock(), text.as_bytes()),
    };
}

fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<Reader> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}
