//! Where the report is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use terminal_size::{Width, terminal_size_of};

use super::To;
use super::fold::fold;

/// Where the report is written.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Stderr,
    File(File),
    /// A named pipe, whose reader would wait for us: opened when needed.
    Pipe(PathBuf),
}

impl Output {
    /// Opens it: as long as this process may. Where messages go elsewhere, the report of a
    /// terminal goes with them.
    pub(super) fn open(to: &To, messages: Option<&File>) -> io::Result<Output> {
        let (json, place) = match to {
            To::Terminal { json, .. } => match messages {
                Some(file) => (*json, Place::File(file.try_clone()?)),
                None => (*json, Place::Stderr),
            },
            To::File(path) => match path.metadata() {
                Ok(about) if about.file_type().is_fifo() => (true, Place::Pipe(path.clone())),
                _ => (true, Place::File(append(path)?)),
            },
        };
        Ok(Output { json, place })
    }

    /// Writes a text at once.
    ///
    /// # Errors
    /// Those of writing; that nobody reads any more is none.
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let folded = self.folded(text);
        let text = folded.as_ref().map_or(text, String::as_bytes);
        let written = match &mut self.place {
            Place::Stderr => io::stderr().write_all(text),
            Place::File(file) => file.write_all(text),
            Place::Pipe(path) => append(path).and_then(|mut pipe| pipe.write_all(text)),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// The text for a terminal; none where it stays as it is.
    fn folded(&self, text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok().filter(|_| !self.json)?;
        let (Width(columns), _) = match &self.place {
            Place::Stderr => terminal_size_of(io::stderr()),
            Place::File(file) => terminal_size_of(file),
            Place::Pipe(_) => None,
        }?;
        let mut folded = String::new();
        fold(text, columns.into(), &mut folded).ok()?;
        (columns > 0).then_some(folded)
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o666);
    // A pipe without a reader is an error, and no reason to wait.
    options.custom_flags(libc::O_NONBLOCK).open(path)
}
