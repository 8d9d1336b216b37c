//! Messages: one `write(2)` each to the [`outlet`]. They raise no signal, and wait at most 100 ms
//! for a reader. A program with its own seccomp filter gets no message.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use hugetools_contract::env::DEFAULT_VERBOSITY;
pub use hugetools_contract::level::Level;

use crate::rt::outlet;
use crate::sys;

static VERBOSITY: AtomicU8 = AtomicU8::new(DEFAULT_VERBOSITY);

/// Sets the verbosity.
pub fn set_verbosity(verbosity: u8) {
    VERBOSITY.store(verbosity, Ordering::Relaxed);
}

/// Whether messages of this level are written.
pub fn is_enabled(level: Level) -> bool {
    level.is_shown(VERBOSITY.load(Ordering::Relaxed))
}

/// Writes a message.
pub fn say(level: Level, text: fmt::Arguments<'_>) {
    if is_enabled(level) && sys::filter() != sys::Filter::Own {
        write_line(level, text);
    }
}

fn write_line(level: Level, text: fmt::Arguments<'_>) {
    if !outlet::is_open() {
        return;
    }
    let name = level.name();
    let own = sys::getpid();
    let line = match (is_enabled(Level::Debug), outlet::is_redirected()) {
        (true, _) => Line::of(format_args!("libhugetlbfs{HostAndPid}: {name}: {text}")),
        // Every process under hugectl writes such lines.
        (false, _) if level == Level::Info => Line::of(format_args!(
            "libhugetlbfs: {name}: process {own} ({ProgramName}): {text}"
        )),
        (false, false) => Line::of(format_args!("libhugetlbfs: {name}: {text}")),
        // A shared file gets the lines of all processes.
        (false, true) => Line::of(format_args!("libhugetlbfs: {name}: process {own}: {text}")),
    };
    outlet::write(line.bytes());
}

/// The process's name as `ps` shows it.
struct ProgramName;

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; 64];
        let file = sys::File::open(c"/proc/self/comm", libc::O_RDONLY);
        let len = file.and_then(|file| file.read(&mut buffer)).unwrap_or(0);
        let name = buffer.get(..len).unwrap_or_default().trim_ascii_end();
        f.write_str(core::str::from_utf8(name).unwrap_or("?"))
    }
}

/// Host and process ID, as libhugetlbfs prints them at its highest verbosity.
struct HostAndPid;

impl fmt::Display for HostAndPid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; 65];
        let host = sys::host_name(&mut buffer).unwrap_or("?");
        write!(f, " [{host}:{}]", sys::getpid())
    }
}

/// Writes a message unless `once` is set, and sets it.
pub fn say_once(once: &AtomicBool, level: Level, text: fmt::Arguments<'_>) {
    say_once_at(once, || level, text);
}

/// Like [`say_once`], with a level that is computed only for the first message.
pub fn say_once_at(once: &AtomicBool, level: impl FnOnce() -> Level, text: fmt::Arguments<'_>) {
    if !once.swap(true, Ordering::Relaxed) {
        say(level(), text);
    }
}

/// One line on the stack, cut off if too long.
pub(crate) struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Line {
    /// Formats a line.
    pub(crate) fn of(text: fmt::Arguments<'_>) -> Line {
        let mut line = Line {
            bytes: [0; 512],
            len: 0,
        };
        let _ = line.write_fmt(text);
        let at = line.len.min(line.bytes.len() - 1);
        line.bytes[at] = b'\n';
        line.len = at + 1;
        line
    }

    /// The line, including the line feed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.len..self.len + part.len()].copy_from_slice(part);
        self.len += part.len();
        Ok(())
    }
}

/// A number of bytes for a message: `40 MiB`.
#[derive(Debug, Clone, Copy)]
pub struct Amount(pub usize);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 10 << 30 => write!(f, "{} GiB", n >> 30),
            n if n >= 1 << 20 => write!(f, "{} MiB", n >> 20),
            n => write!(f, "{} KiB", n >> 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_and_ended() {
        let line = Line::of(format_args!("{}", "x".repeat(600)));
        assert_eq!(line.bytes().len(), 512);
        assert_eq!(line.bytes()[511], b'\n');
    }
}
