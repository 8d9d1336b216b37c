//! Runs the real linker.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use nix::sys::signal::{Signal, raise};

use super::response;
use crate::failure::{Failure, describe};

/// Set for the linker, so that a second ld.hugetlbfs knows that the first one called
/// it.
const RECURSION: &str = "LD_HUGETLBFS_RECURSION";

/// Prepares a linker with its first arguments.
pub(crate) fn command(linker: &[OsString]) -> Command {
    let (program, first) = match linker.split_first() {
        Some((program, first)) => (program.clone(), first),
        None => (OsString::new(), linker),
    };
    let mut command = Command::new(program);
    command.args(first).env(RECURSION, "yes");
    command
}

/// Replaces this process by the linker. Returns only after a failure.
pub(crate) fn exec(linker: &[OsString], args: &[OsString]) -> Failure {
    start_failure(linker, &command(linker).args(args).exec())
}

/// Runs the linker and waits for it. Uses a response file if the arguments are too long
/// for exec (E2BIG).
///
/// # Errors
///
/// When the linker cannot be started.
pub(crate) fn run(
    linker: &[OsString],
    args: &[OsString],
    temporary: &Path,
) -> Result<ExitStatus, Failure> {
    match command(linker).args(args).status() {
        Err(error) if error.raw_os_error() == Some(libc::E2BIG) => {
            let file = Response::new(temporary, args).map_err(|error| {
                Failure::of(
                    temporary,
                    format_args!("cannot create a response file there: {}", describe(&error)),
                )
                .next("TMPDIR names another directory")
            })?;
            let result = command(linker).arg(file.argument()).status();
            result.map_err(|error| start_failure(linker, &error))
        }
        result => result.map_err(|error| start_failure(linker, &error)),
    }
}

fn start_failure(linker: &[OsString], error: &io::Error) -> Failure {
    let name = linker.first().map(PathBuf::from).unwrap_or_default();
    Failure::of(
        &name,
        format_args!("cannot be started: {}", describe(error)),
    )
}

/// The linker's exit status, as a shell reports it.
pub(crate) fn status(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or(signal);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Kills this process by the linker's signal. Returns only if the signal is ignored or
/// blocked.
pub fn die(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        let _ = raise(signal);
    }
}

/// A response file, removed on drop.
struct Response(PathBuf);

impl Response {
    fn new(dir: &Path, args: &[OsString]) -> io::Result<Response> {
        let id = std::process::id();
        let mut number = 0;
        loop {
            let path = dir.join(format!("ld.hugetlbfs-{id}-{number}"));
            let made = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match made {
                Ok(mut file) => {
                    let response = Response(path);
                    file.write_all(&response::write(args))?;
                    return Ok(response);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn argument(&self) -> OsString {
        let mut argument = OsString::from("@");
        argument.push(&self.0);
        argument
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        // A leftover file is small, and temporary directories are cleaned.
        let _ = fs::remove_file(&self.0);
    }
}
