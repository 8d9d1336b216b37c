//! Copies messages to the user's terminal: the standard error of a server is a log, but the
//! process that hugectl started still has the terminal.

use core::fmt;

use hugetools_contract::ledger::Kind;

use crate::config;
use crate::kernel::process;
use crate::rt::message::{self, Level, Line, is_enabled};
use crate::rt::outlet;
use crate::rt::path::Path;
use crate::sys::{self, File};

/// Writes a message: a warning if it is the first of its kind, otherwise an info.
pub fn warn(kind: Kind, text: fmt::Arguments<'_>) {
    say(config::level_once(kind), text);
}

/// Writes a message, and copies it to the standard error of the process that hugectl started if
/// that is another file. Redirected messages (`--messages`) aren't copied.
pub fn say(level: Level, text: fmt::Arguments<'_>) {
    message::say(level, text);
    let other = config::get().starter.map(|starter| starter.pid);
    let other = other.filter(|pid| *pid != sys::getpid());
    let is_enabled =
        is_enabled(level) && sys::filter() != sys::Filter::Own && !outlet::is_redirected();
    if let Some(pid) = other.filter(|_| is_enabled) {
        copy_to_starter(pid, level, text);
    }
}

fn copy_to_starter(pid: u32, level: Level, text: fmt::Arguments<'_>) {
    // The process ID may have been reused.
    if !process::is_ancestor(pid) {
        return;
    }
    let Some(file) = error_output(pid) else {
        return;
    };
    if sys::identity(file.fd()) != sys::identity(2) {
        let own = sys::getpid();
        let line = Line::of(format_args!(
            "libhugetlbfs: {}: process {own}: {text}",
            level.name()
        ));
        let _ = sys::write_quietly(file.fd(), line.bytes());
    }
}

/// Duplicates the standard error of a process: a shared file offset keeps lines from being
/// overwritten. If that fails, opens it by name unless it is a regular file.
fn error_output(pid: u32) -> Option<File> {
    if let Ok(file) = File::of_process(pid, 2) {
        return Some(file);
    }
    let path = Path::of(format_args!("/proc/{pid}/fd/2"))?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = File::open(path.c_str(), flags).ok()?;
    (!sys::is_file_or_memory_device(file.fd())).then_some(file)
}
