//! Copies messages to standard error of the starter, the process that hugectl started. It is often
//! the user's terminal, while a server's own standard error is a log.

use core::fmt;

use hugetools_contract::ledger::Kind;

use crate::config;
use crate::kernel::process;
use crate::rt::message::{self, Level, Line, is_enabled};
use crate::rt::outlet;
use crate::rt::path::Path;
use crate::sys::{self, File};

/// Writes a message, as a warning if none of this kind was printed yet, otherwise as info.
pub fn warn(kind: Kind, text: fmt::Arguments<'_>) {
    say(config::level_once(kind), text);
}

/// Writes a message. Copies it to the starter if that has another standard error, unless messages
/// are redirected (`--messages`) or the program set a seccomp filter.
pub fn say(level: Level, text: fmt::Arguments<'_>) {
    message::say(level, text);
    let starter = config::get().starter.map(|starter| starter.pid);
    let starter = starter.filter(|pid| *pid != sys::getpid());
    let may_copy =
        is_enabled(level) && sys::filter() != sys::Filter::Own && !outlet::is_redirected();
    if let Some(pid) = starter.filter(|_| may_copy) {
        copy_to_starter(pid, level, text);
    }
}

fn copy_to_starter(pid: u32, level: Level, text: fmt::Arguments<'_>) {
    // The process ID may have been reused.
    if !process::is_ancestor(pid) {
        return;
    }
    let Some(file) = open_stderr(pid) else {
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

/// Duplicates the standard error of a process, because the file offset must be shared. If that
/// fails, opens it by name, but rejects files and memory devices.
fn open_stderr(pid: u32) -> Option<File> {
    if let Ok(file) = File::of_process(pid, 2) {
        return Some(file);
    }
    let path = Path::of(format_args!("/proc/{pid}/fd/2"))?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = File::open(path.c_str(), flags).ok()?;
    (!sys::is_file_or_memory_device(file.fd())).then_some(file)
}
