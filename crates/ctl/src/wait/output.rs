//! The destination of the report.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use terminal_size::{Width, terminal_size_of};

use super::To;
use super::fold::fold;

/// The destination of the report.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// The file; otherwise standard error.
    file: Option<File>,
}

impl Output {
    /// Opens it before the program starts. Redirected messages take a terminal's report along.
    pub(super) fn open(to: &To, messages: Option<&File>) -> io::Result<Output> {
        let (json, file) = match to {
            To::Terminal { json, .. } => (*json, messages.map(File::try_clone).transpose()?),
            To::File(path) => {
                let mut options = OpenOptions::new();
                options.append(true).create(true).mode(0o666);
                // A pipe without a reader is an error; hugectl must not wait for one.
                (
                    true,
                    Some(options.custom_flags(libc::O_NONBLOCK).open(path)?),
                )
            }
        };
        Ok(Output { json, file })
    }

    /// Writes a text with one call.
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let folded = self.folded(text);
        let text = folded.as_ref().map_or(text, String::as_bytes);
        let written = match &mut self.file {
            None => io::stderr().write_all(text),
            Some(file) => file.write_all(text),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// The text folded to the width of the terminal, if there is one.
    fn folded(&self, text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok().filter(|_| !self.json)?;
        let (Width(columns), _) = match &self.file {
            None => terminal_size_of(io::stderr()),
            Some(file) => terminal_size_of(file),
        }?;
        let mut folded = String::new();
        fold(text, columns.into(), &mut folded).ok()?;
        (columns > 0).then_some(folded)
    }
}
