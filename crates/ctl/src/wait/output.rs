//! The destination of the report.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::{ReportDestination, Wrap};

#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// The file; otherwise standard error.
    file: Option<File>,
}

impl Output {
    /// Opens the destination before the program starts. A report for the terminal goes to
    /// `messages` if they are redirected.
    pub(super) fn open(to: &ReportDestination, messages: Option<&File>) -> io::Result<Output> {
        let (json, file) = match to {
            ReportDestination::Terminal { json } => {
                (*json, messages.map(File::try_clone).transpose()?)
            }
            ReportDestination::File(path) => {
                let mut options = OpenOptions::new();
                options.append(true).create(true).mode(0o666);
                // A FIFO without a reader is an error; hugectl must not wait for one.
                let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
                (true, Some(file))
            }
        };
        Ok(Output { json, file })
    }

    /// Writes a text with one call. A table for standard error is wrapped.
    pub(super) fn write(&mut self, text: &[u8], wrap: Wrap) -> io::Result<()> {
        let written = match (&mut self.file, std::str::from_utf8(text)) {
            (Some(file), _) => file.write_all(text),
            (None, Ok(table)) if !self.json => io::stderr().write_all(wrap(table).as_bytes()),
            (None, _) => io::stderr().write_all(text),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}
