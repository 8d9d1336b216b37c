//! What the user hears of a program that was started in turn: a server's own
//! standard error is a log, while its starter waits at the terminal.

use core::fmt;

use hugetools_contract::ledger::Kind;

use crate::config;
use crate::kernel::kin;
use crate::rt::message::{self, Level, Line, is_heard};
use crate::rt::outlet;
use crate::rt::path::Path;
use crate::sys::{self, File};

/// Writes a warning as [`message`] does, where it is the first of its kind.
pub fn warn(kind: Kind, text: fmt::Arguments<'_>) {
    say(config::level_once(kind), text);
}

/// Writes a message, also to the standard error of the process that hugectl
/// started, where that is another file and the process has not ended; unless
/// messages are kept off it.
pub fn say(level: Level, text: fmt::Arguments<'_>) {
    message::say(level, text);
    let other = config::get().starter.map(|starter| starter.pid);
    let other = other.filter(|pid| *pid != sys::getpid());
    let is_heard = is_heard(level) && sys::filter() != sys::Filter::Own && !outlet::is_elsewhere();
    if let Some(pid) = other.filter(|_| is_heard) {
        tell(pid, level, text);
    }
}

fn tell(pid: u32, level: Level, text: fmt::Arguments<'_>) {
    // Its number may be another's by now.
    if !kin::is_ancestor(pid) {
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

/// The standard error of a process: the open file itself, so that what both
/// write to a plain file comes one behind the other; where that may not be had,
/// a terminal or a pipe by its name.
fn error_output(pid: u32) -> Option<File> {
    if let Ok(file) = File::of_process(pid, 2) {
        return Some(file);
    }
    let path = Path::of(format_args!("/proc/{pid}/fd/2"))?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = File::open(path.c_str(), flags).ok()?;
    (!sys::is_plain_file(file.fd())).then_some(file)
}
