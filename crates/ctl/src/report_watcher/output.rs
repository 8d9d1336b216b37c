//! Where the watcher writes to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use hugetools_contract::report::fold;
use hugetools_model::Root;
use terminal_size::{Width, terminal_size_of};

use super::To;
use crate::sys::aside;

/// Where the watcher writes to.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// What standard error of the program was at the beginning.
    Terminal { json: bool, is_gone: bool },
    /// Where messages go.
    Messages { json: bool },
    /// An open file.
    File,
    /// A pipe with a name, whose reader would wait for us: opened when needed.
    Pipe(PathBuf),
}

impl Output {
    /// Opens it: as long as this process may.
    pub(super) fn open(to: &To, messages: Option<&File>) -> io::Result<Output> {
        let (file, kind) = match (to, messages) {
            (To::Terminal { json, .. }, Some(file)) => {
                (file.try_clone()?, Kind::Messages { json: *json })
            }
            (To::Terminal { json, .. }, None) => {
                let file = nix::unistd::dup(io::stderr())?;
                let (json, is_gone) = (*json, false);
                (File::from(file), Kind::Terminal { json, is_gone })
            }
            (To::File(path), _) => match path.metadata() {
                Ok(about) if about.file_type().is_fifo() => {
                    let null = OpenOptions::new().write(true).open("/dev/null")?;
                    (null, Kind::Pipe(path.clone()))
                }
                _ => (append(path)?, Kind::File),
            },
        };
        Ok(Output { file, kind })
    }

    /// The same by another descriptor.
    pub(super) fn reopened(&self, file: OwnedFd) -> Output {
        Output {
            file: File::from(file),
            kind: self.kind.clone(),
        }
    }

    /// Whether it takes lines of JSON.
    pub(super) fn is_json(&self) -> bool {
        let (Kind::Terminal { json, .. } | Kind::Messages { json }) = self.kind else {
            return true;
        };
        json
    }

    /// Whether there is nobody any more who could read it.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.kind, Kind::Terminal { is_gone: true, .. })
    }

    /// Lets go of a terminal that the program has let go of: who reads from it
    /// waits for its end.
    pub(super) fn follow(&mut self, root: &Root, pid: u32) {
        let Kind::Terminal { is_gone, .. } = &mut self.kind else {
            return;
        };
        let path = root.host_path(format!("/proc/{pid}/fd/2"));
        let own = self.file.metadata().ok();
        *is_gone = match path.metadata() {
            Ok(now) => own.is_some_and(|own| (own.dev(), own.ino()) != (now.dev(), now.ino())),
            Err(why) => {
                why.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(is_there)
            }
        };
    }

    /// Writes a report at once, if somebody takes it.
    pub(super) fn write(&mut self, text: &[u8]) {
        if let Kind::Pipe(path) = &self.kind {
            if let Ok(mut pipe) = append(path) {
                let _ = pipe.write_all(text);
            }
        } else if aside::takes_bytes(&self.file) {
            let folded = self.folded(text);
            let text = folded.as_ref().map_or(text, String::as_bytes);
            let _ = self.file.write_all(text);
        }
    }

    /// The text for a terminal; none where it stays as it is.
    fn folded(&self, text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok().filter(|_| !self.is_json())?;
        let (Width(columns), _) = terminal_size_of(&self.file)?;
        let mut folded = String::new();
        let columns = usize::from(columns);
        fold(text, columns, &mut folded)
            .ok()
            .filter(|()| columns > 0)?;
        Some(folded)
    }
}

/// Whether a process has open files still: not one that has ended.
fn is_there(files: &std::path::Path) -> bool {
    std::fs::read_dir(files).is_ok_and(|mut files| files.next().is_some())
}

fn append(path: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o666);
    // A pipe without a reader is an error, and no reason to wait.
    options.custom_flags(libc::O_NONBLOCK).open(path)
}

impl AsRawFd for Output {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
