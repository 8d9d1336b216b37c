//! Runs the real linker.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::failure::Failure;

/// Set for the linker, so that ld.hugetlbfs detects a recursive call.
const RECURSION: &str = "LD_HUGETLBFS_RECURSION";

/// Returns the command that runs a linker with its first arguments.
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

/// Runs the linker and waits for it.
pub(crate) fn run(linker: &[OsString], args: &[OsString]) -> Result<ExitStatus, Failure> {
    let status = command(linker).args(args).status();
    status.map_err(|error| start_failure(linker, &error))
}

pub(crate) fn start_failure(linker: &[OsString], error: &io::Error) -> Failure {
    let name = linker.first().map(PathBuf::from).unwrap_or_default();
    Failure::io(&name, "cannot be started", error)
}

/// Returns the linker's exit status, or 128 plus the signal that killed it.
pub(crate) fn status(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or(signal);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
