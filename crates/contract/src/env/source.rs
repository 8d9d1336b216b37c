//! The environment that settings are read from, and parsers that several variables share.

use super::Rejected;
use super::value::parse_number;

/// An environment, the process that it belongs to, and the variables rejected so far.
#[expect(missing_debug_implementations, reason = "it holds closures")]
pub struct Source<'e, 'a> {
    get: &'e dyn Fn(&str) -> Option<&'a [u8]>,
    keep: fn(&'a [u8]) -> Option<&'a [u8]>,
    program: &'e [u8],
    pub(super) pid: u32,
    pub(super) rejected: Rejected,
}

impl<'e, 'a> Source<'e, 'a> {
    /// `get` returns the value of a variable. `keep` copies the values that the settings
    /// refer to, `None` if there is no memory. `program` is the base name of `argv[0]`.
    pub fn new(
        get: &'e dyn Fn(&str) -> Option<&'a [u8]>,
        keep: fn(&'a [u8]) -> Option<&'a [u8]>,
        program: &'e [u8],
        pid: u32,
    ) -> Source<'e, 'a> {
        Source {
            get,
            keep,
            program,
            pid,
            rejected: Rejected::NONE,
        }
    }

    /// Returns the value of a variable.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        (self.get)(name)
    }

    /// Returns a value that is not empty.
    pub(super) fn non_empty(&self, name: &str) -> Option<&'a [u8]> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Parses a value that is not empty; rejects the variable if that fails.
    pub(super) fn parsed<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&'a [u8]) -> Option<T>,
    ) -> Option<T> {
        let value = self.non_empty(name)?;
        self.or_reject(name, read(value))
    }

    /// Returns a copy that outlives the environment; rejects the variable if there is no memory.
    pub(super) fn keep(&mut self, name: &'static str, value: &'a [u8]) -> Option<&'a [u8]> {
        let kept = (self.keep)(value);
        self.or_reject(name, kept)
    }

    /// Adds a variable to the rejected ones.
    pub(super) fn reject(&mut self, name: &'static str) {
        self.rejected.add(name);
    }

    /// Returns the parsed value; rejects the variable if that is `None`.
    pub(super) fn or_reject<T>(&mut self, name: &'static str, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.reject(name);
        }
        read
    }

    /// Whether the settings apply to this process: not if the variable `process` has another PID
    /// (0 means any), or the variable `names` only other programs.
    pub(super) fn applies(&mut self, process: &'static str, names: &'static str) -> bool {
        let only: Option<u32> = self.parsed(process, parse_number);
        let is_other = only.is_some_and(|only| only != 0 && only != self.pid);
        let names = self.get(names);
        !is_other && names.is_none_or(|names| is_among(self.program, names))
    }

    /// Whether a variable is `yes`; rejects anything but `yes` and `no`.
    pub(super) fn yes(&mut self, name: &'static str) -> bool {
        let value = self.get(name).unwrap_or_default();
        let yes = value.eq_ignore_ascii_case(b"yes");
        if !yes && !value.is_empty() && !value.eq_ignore_ascii_case(b"no") {
            self.reject(name);
        }
        yes
    }

    /// Returns a path.
    pub(super) fn path(&mut self, name: &'static str) -> Option<&'a [u8]> {
        let path = self.non_empty(name)?;
        self.keep(name, path)
    }

    /// Returns a list, which may be empty.
    pub(super) fn list(&mut self, name: &'static str) -> Option<&'a [u8]> {
        let list = self.get(name)?;
        self.keep(name, list)
    }
}

/// Whether a program is in a list of names separated by colons.
pub fn is_among(program: &[u8], names: &[u8]) -> bool {
    names.split(|b| *b == b':').any(|name| name == program)
}
