//! Readers of values, each for the row of the table that names it.

use super::elfmap::Elfmap;
use super::filter::Filter;
use super::limit::Limit;
use super::messages::Messages;
use super::require::Require;
use super::source::Source;
use super::text_copy::TextCopy;
use super::value::{Pages, number};
use super::{DEFAULT_VERBOSITY, Fallback, Report, Starter, Watcher};
use crate::{said, size};

/// So long the path of a report may be, its zero byte counted.
pub const PATH_MAX: usize = 4096;

pub(super) fn how_much_is_said(
    source: &mut Source<'_, '_>,
    name: &'static str,
    debug: &'static str,
) -> u8 {
    let level = source.get(name).map_or(DEFAULT_VERBOSITY, verbosity);
    match source.is_there(debug) {
        true => level.max(4),
        false => level,
    }
}

/// As `atoi` reads it: leading digits, anything else is 0; at most 99.
pub fn verbosity(value: &[u8]) -> u8 {
    let value = value.trim_ascii_start();
    let digits = value.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n: u8, b| {
        n.saturating_mul(10).saturating_add(b - b'0').min(99)
    })
}

pub(super) fn messages<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
) -> Option<Messages<'a>> {
    let value = source.some(name)?;
    let read = source.known(name, Messages::read(value))?;
    Some(Messages {
        path: read.path.and_then(|path| source.keep(name, path)),
        ..read
    })
}

/// `PID`, or `PID:KEY:FILE`.
pub(super) fn starter(source: &mut Source<'_, '_>, name: &'static str) -> Option<Starter> {
    let value = source.some(name)?;
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let pid = parts.next().and_then(number)?;
    let said = parts.next().and_then(said::Place::read);
    Some(Starter { pid, said })
}

pub(super) fn pages(source: &mut Source<'_, '_>, name: &'static str) -> Option<Pages> {
    let value = source.some(name)?;
    if value.eq_ignore_ascii_case(b"no") {
        return None;
    }
    if value.eq_ignore_ascii_case(b"thp") {
        return Some(Pages::Thp);
    }
    if matches!(value[0], b'y' | b'Y') {
        return Some(Pages::Default);
    }
    let size = source.known(name, size::parse(value).ok())?;
    if size.tail {
        source.note(name);
    }
    Some(Pages::Size(size.bytes))
}

/// A number of bytes.
pub(super) fn length(source: &mut Source<'_, '_>, name: &'static str) -> Option<u64> {
    let value = source.some(name)?;
    let size = source.known(name, size::parse(value).ok())?;
    if size.tail {
        source.note(name);
    }
    Some(size.bytes)
}

pub(super) fn address(source: &mut Source<'_, '_>, name: &'static str) -> Option<u64> {
    let value = source.some(name)?;
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    let text = core::str::from_utf8(digits).unwrap_or_default();
    source.known(name, u64::from_str_radix(text, 16).ok())
}

pub(super) fn elfmap(source: &mut Source<'_, '_>, name: &'static str) -> Elfmap {
    let Some(value) = source.get(name) else {
        return Elfmap::NOTHING;
    };
    let read = source.known(name, Elfmap::read(value));
    read.unwrap_or(Elfmap::OFF)
}

/// Whether forks are the kernel's own.
pub(super) fn fork(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    match source.get(name).unwrap_or_default().trim_ascii() {
        b"kernel" => return true,
        b"" => {}
        _ => source.note(name),
    }
    false
}

/// Whether a ban is lifted. The other policies are what a process inherits.
pub(super) fn thp_policy(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    match source.get(name).unwrap_or_default().trim_ascii() {
        b"always" => return true,
        b"" => {}
        _ => source.note(name),
    }
    false
}

/// 1 shares what is not written. 2 once shared all, and does nothing now.
pub(super) fn share(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    match source.get(name).unwrap_or_default().trim_ascii() {
        b"1" => return true,
        b"" | b"0" => {}
        _ => source.note(name),
    }
    false
}

pub(super) fn filter(source: &mut Source<'_, '_>, name: &'static str) -> Option<Filter> {
    let value = source.some(name)?;
    source.known(name, Filter::read(value))
}

pub(super) fn text_copy<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
) -> Option<TextCopy<'a>> {
    let value = source.some(name)?;
    let read = source.known(name, TextCopy::read(value))?;
    let program = source.keep(name, read.program)?;
    Some(TextCopy { program, ..read })
}

pub(super) fn fallback(source: &mut Source<'_, '_>, name: &'static str) -> Fallback {
    let Some(value) = source.get(name) else {
        return Fallback::default();
    };
    let mut all = [Fallback::Thp, Fallback::Base, Fallback::None].into_iter();
    let found = all.find(|fallback| fallback.word().as_bytes() == value);
    source.known(name, found).unwrap_or_default()
}

pub(super) fn require(source: &mut Source<'_, '_>, name: &'static str) -> Require {
    let Some(value) = source.some(name) else {
        return Require::NOTHING;
    };
    let read = Require::read_for(value, source.pid());
    source.known(name, read).unwrap_or_default()
}

pub(super) fn limit(source: &mut Source<'_, '_>, name: &'static str) -> Option<Limit> {
    let value = source.some(name)?;
    let (limit, tail) = source.known(name, Limit::read(value))?;
    if tail {
        source.note(name);
    }
    Some(limit)
}

/// What is meant otherwise than as the name of a file.
const NO_FILES: [&[u8]; 7] = [b"no", b"yes", b"0", b"1", b"2", b"stderr", b"stdout"];

/// `whose` and `json` are the names of two more variables.
pub(super) fn report<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
    whose: &'static str,
    json: &'static str,
) -> Option<Report<'a>> {
    let value = source.get(name)?;
    if value != b"-" {
        let is_path = (1..PATH_MAX).contains(&value.len()) && !NO_FILES.contains(&value);
        return source.known(name, is_path.then_some(Report::File(value)));
    }
    let pid = source.get(whose);
    // A variable that is not there cannot be wrong.
    let which = pid.map_or(name, |_| whose);
    let pid = pid.and_then(number);
    Some(Report::Terminal {
        pid: source.known(which, pid)?,
        json: source.get(json) == Some(b"yes"),
    })
}

pub(super) fn watcher(source: &mut Source<'_, '_>, name: &'static str) -> Option<Watcher> {
    let value = source.some(name)?;
    let read = || {
        let mut numbers = value.split(|byte| *byte == b':').map(number);
        let mut next = || numbers.next().flatten();
        Some(Watcher {
            program: next()?,
            pid: next()?,
            fd: next()?,
        })
    };
    source.known(name, read())
}
