//! The environment that settings are read from, and values that several variables have.

use super::odd::Odd;
use super::value::{is_no, number};

/// An environment, whose it is, and what was odd about it so far.
#[expect(missing_debug_implementations, reason = "it holds closures")]
pub struct Source<'e, 'a> {
    get: &'e dyn Fn(&str) -> Option<&'a [u8]>,
    keep: fn(&'a [u8]) -> Option<&'a [u8]>,
    program: &'e [u8],
    pid: u32,
    odd: Odd,
}

impl<'e, 'a> Source<'e, 'a> {
    /// Variables, by `get`; what follows the last `/` of the program's first argument;
    /// its process; none of the variables.
    pub(super) fn new(
        get: &'e dyn Fn(&str) -> Option<&'a [u8]>,
        program: &'e [u8],
        pid: u32,
        odd: Odd,
    ) -> Source<'e, 'a> {
        Source {
            get,
            keep: Some,
            program,
            pid,
            odd,
        }
    }

    /// Values that settings go on to refer to are copied by `keep`, which has none where
    /// there is no memory for it.
    #[must_use]
    pub fn kept_by(self, keep: fn(&'a [u8]) -> Option<&'a [u8]>) -> Source<'e, 'a> {
        Source { keep, ..self }
    }

    /// The process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        (self.get)(name)
    }

    /// A value that has at least one byte.
    pub(super) fn some(&self, name: &str) -> Option<&'a [u8]> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// A copy that stays.
    pub(super) fn keep(&mut self, name: &'static str, value: &'a [u8]) -> Option<&'a [u8]> {
        let kept = (self.keep)(value);
        self.known(name, kept)
    }

    /// Notes a variable whose value cannot be used in full.
    pub(super) fn note(&mut self, name: &'static str) {
        self.odd.add(name);
    }

    /// What was read of a value, noted where that is nothing.
    pub(super) fn known<T>(&mut self, name: &'static str, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.note(name);
        }
        read
    }

    /// Which variables were noted.
    pub(super) fn odd(&self) -> Odd {
        self.odd
    }

    /// Whether huge pages are for this process, not for another one or for programs of
    /// other names alone.
    pub(super) fn is_meant(&mut self, process: &'static str, names: &'static str) -> bool {
        let left_out = self.is_other(process);
        let names = self.get(names);
        !left_out && names.is_none_or(|names| is_among(self.program, names))
    }

    /// Whether they are for another process alone. 0 is none.
    fn is_other(&mut self, process: &'static str) -> bool {
        let Some(only) = self.some(process) else {
            return false;
        };
        let only = self.known(process, number(only));
        only.is_some_and(|only| only != 0 && only != self.pid)
    }

    /// Whether a variable that is `yes`, `no` or not set is `yes`.
    pub(super) fn yes(&mut self, name: &'static str) -> bool {
        let value = self.get(name).unwrap_or_default();
        let yes = value.eq_ignore_ascii_case(b"yes");
        if !yes && !value.is_empty() && !is_no(value) {
            self.note(name);
        }
        yes
    }

    /// Whether it is anything but `no`.
    pub(super) fn is_not_no(&mut self, name: &'static str) -> bool {
        !self.get(name).is_some_and(is_no)
    }

    /// Whether it is set, to whatever.
    pub(super) fn is_there(&mut self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    /// A number, without a word where it is none.
    pub(super) fn number(&mut self, name: &'static str) -> Option<u32> {
        self.get(name).and_then(number)
    }

    /// A path.
    pub(super) fn path(&mut self, name: &'static str) -> Option<&'a [u8]> {
        let path = self.some(name)?;
        self.keep(name, path)
    }

    /// A list, which may be empty.
    pub(super) fn list(&mut self, name: &'static str) -> Option<&'a [u8]> {
        let list = self.get(name)?;
        self.keep(name, list)
    }
}

/// Whether a program is in a list of names with colons between them.
pub fn is_among(program: &[u8], names: &[u8]) -> bool {
    names.split(|b| *b == b':').any(|name| name == program)
}
