//! Messages: one `write(2)` each, by the [`outlet`]. They raise no signal, do not
//! wait for a reader that does not read, and take none of the program's stack. A
//! program that has filtered its own system calls gets none.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use hugetools_contract::env::DEFAULT_VERBOSITY;
pub use hugetools_contract::level::Level;

use crate::rt::outlet;
use crate::rt::side_stack::on_side_stack;
use crate::sys;

static VERBOSITY: AtomicU8 = AtomicU8::new(DEFAULT_VERBOSITY);

/// Sets which messages are written.
pub fn set_verbosity(verbosity: u8) {
    VERBOSITY.store(verbosity, Ordering::Relaxed);
}

/// Whether messages of this level are written.
pub fn is_heard(level: Level) -> bool {
    level.is_shown(VERBOSITY.load(Ordering::Relaxed))
}

/// Writes a message.
pub fn say(level: Level, text: fmt::Arguments<'_>) {
    if is_heard(level) && sys::filter() != sys::Filter::Own {
        // There, no signal of a write reaches the program.
        on_side_stack(|| write_line(level, text));
    }
}

fn write_line(level: Level, text: fmt::Arguments<'_>) {
    if !outlet::is_open() {
        return;
    }
    let name = level.name();
    let line = match (is_heard(Level::Debug), outlet::is_elsewhere()) {
        (true, _) => Line::of(format_args!("libhugetlbfs{Whose}: {name}: {text}")),
        (false, false) => Line::of(format_args!("libhugetlbfs: {name}: {text}")),
        // Of all processes, whatever else they write.
        (false, true) => {
            let own = sys::getpid();
            Line::of(format_args!("libhugetlbfs: {name}: process {own}: {text}"))
        }
    };
    outlet::write(line.bytes());
}

/// Which process of which machine says it, as it was always said to whoever
/// wants to hear everything.
struct Whose;

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; 65];
        let host = sys::host(&mut buffer).unwrap_or("?");
        write!(f, " [{host}:{}]", sys::getpid())
    }
}

/// Writes a message the first time that `once` is passed.
pub fn say_once(once: &AtomicBool, level: Level, text: fmt::Arguments<'_>) {
    say_news(once, || level, text);
}

/// The same, of which only who says it finds out how loud: to ask whether it is news makes it
/// none, and two threads may come at once.
pub fn say_news(once: &AtomicBool, level: impl FnOnce() -> Level, text: fmt::Arguments<'_>) {
    if !once.swap(true, Ordering::Relaxed) {
        say(level(), text);
    }
}

/// One line on the stack; what does not fit is cut off.
pub(crate) struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            bytes: [0; 512],
            len: 0,
        }
    }
}

impl Line {
    /// The line of a text.
    pub(crate) fn of(text: fmt::Arguments<'_>) -> Line {
        let mut line = Line::default();
        let _ = line.write_fmt(text);
        line.end();
        line
    }

    fn end(&mut self) {
        let at = self.len.min(self.bytes.len() - 1);
        self.bytes[at] = b'\n';
        self.len = at + 1;
    }

    /// With its end.
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
        let mut line = Line::default();
        write!(line, "{}", "x".repeat(600)).unwrap();
        line.end();
        assert_eq!(line.bytes().len(), 512);
        assert_eq!(line.bytes()[511], b'\n');
    }

    #[test]
    fn amounts_for_people() {
        assert_eq!(Amount(40 << 20).to_string(), "40 MiB");
    }
}
