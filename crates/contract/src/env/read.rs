//! Parsers of values. Each row of the table names its parser.

use super::elfmap::Elfmap;
use super::messages::Messages;
use super::require::Require;
use super::source::Source;
use super::value::{Pages, parse_number, split_at_colon};
use super::{DEFAULT_VERBOSITY, DefaultSize, Fallback, Report, Starter, TextCopy, Watcher};
use crate::{ledger, size};

/// Maximum length of a path in bytes, including the terminating NUL.
pub const PATH_MAX: usize = 4096;

pub(super) fn verbosity_or_debug(
    source: &mut Source<'_, '_>,
    name: &'static str,
    debug: &'static str,
) -> u8 {
    let level = source.parsed(name, verbosity).unwrap_or(DEFAULT_VERBOSITY);
    match source.get(debug) {
        Some(_) => level.max(4),
        None => level,
    }
}

/// Parses the leading digits, as `atoi` does. 99 is the maximum.
pub fn verbosity(value: &[u8]) -> Option<u8> {
    let value = value.trim_ascii_start();
    let digits = value.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(None, |n: Option<u8>, b| {
        let tens = n.unwrap_or(0).saturating_mul(10);
        Some(tens.saturating_add(b - b'0').min(99))
    })
}

pub(super) fn messages<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
) -> Option<Messages<'a>> {
    let read = source.parsed(name, Messages::read)?;
    Some(Messages {
        path: read.path.and_then(|path| source.keep(name, path)),
        ..read
    })
}

/// Parses `PID` or `PID:KEY:KINDS:FILE`.
pub(super) fn starter(value: &[u8]) -> Option<Starter> {
    let (pid, place) = split_at_colon(value).unwrap_or((value, b""));
    Some(Starter {
        pid: parse_number(pid)?,
        ledger: ledger::Place::read(place),
    })
}

pub(super) fn pages(source: &mut Source<'_, '_>, name: &'static str) -> Option<Pages> {
    let value = source.non_empty(name)?;
    if value.eq_ignore_ascii_case(b"no") {
        return None;
    }
    if value.eq_ignore_ascii_case(b"thp") {
        return Some(Pages::Thp);
    }
    if matches!(value[0], b'y' | b'Y') {
        return Some(Pages::Default);
    }
    length(source, name).map(Pages::Size)
}

/// Parses a number of bytes.
pub(super) fn length(source: &mut Source<'_, '_>, name: &'static str) -> Option<u64> {
    let size = source.parsed(name, size::parse)?;
    if size.has_trailing_text {
        source.reject(name);
    }
    Some(size.bytes)
}

pub(super) fn address(source: &mut Source<'_, '_>, name: &'static str) -> Option<u64> {
    source.parsed(name, |value| {
        let digits = value.strip_prefix(b"0x").unwrap_or(value);
        u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
    })
}

pub(super) fn elfmap(source: &mut Source<'_, '_>, name: &'static str) -> Elfmap {
    let Some(value) = source.get(name) else {
        return Elfmap::NOTHING;
    };
    let read = source.or_reject(name, Elfmap::read(value));
    read.unwrap_or(Elfmap::OFF)
}

/// Whether text is shared. Rejects 2 (in the classic library: all segments).
pub(super) fn share(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    source.get(name) != Some(b"0") && is_word(source, name, b"1")
}

/// Whether the value is this word; rejects other words.
pub(super) fn is_word(source: &mut Source<'_, '_>, name: &'static str, word: &[u8]) -> bool {
    let value = source.get(name).unwrap_or_default().trim_ascii();
    if value != word && !value.is_empty() {
        source.reject(name);
    }
    value == word
}

pub(super) fn text_copy<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
) -> Option<TextCopy<'a>> {
    let (pid, program) = source.parsed(name, |value| {
        let (pid, program) = split_at_colon(value)?;
        (!program.is_empty()).then_some((parse_number(pid)?, program))
    })?;
    let program = source.keep(name, program)?;
    Some(TextCopy { pid, program })
}

pub(super) fn fallback(source: &mut Source<'_, '_>, name: &'static str) -> Fallback {
    let Some(value) = source.get(name) else {
        return Fallback::default();
    };
    let mut all = [Fallback::Thp, Fallback::Base, Fallback::None].into_iter();
    let found = all.find(|fallback| fallback.word().as_bytes() == value);
    source.or_reject(name, found).unwrap_or_default()
}

pub(super) fn require(source: &mut Source<'_, '_>, name: &'static str) -> Require {
    let pid = source.pid;
    let read = source.parsed(name, |value| Require::read_for(value, pid));
    read.unwrap_or_default()
}

/// Words that are never the name of a report file.
const NO_FILES: [&[u8]; 7] = [b"no", b"yes", b"0", b"1", b"2", b"stderr", b"stdout"];

/// Parses the destination of the report. `pid_name` and `json` are the names of two more variables.
pub(super) fn report<'a>(
    source: &mut Source<'_, 'a>,
    name: &'static str,
    pid_name: &'static str,
    json: &'static str,
) -> Option<Report<'a>> {
    let value = source.get(name)?;
    if value != b"-" {
        let is_path = (1..PATH_MAX).contains(&value.len()) && !NO_FILES.contains(&value);
        let path = source.or_reject(name, is_path.then_some(value))?;
        return source.keep(name, path).map(Report::File);
    }
    let pid = source.get(pid_name);
    // Rejects `name` if `pid_name` is unset.
    let which = pid.map_or(name, |_| pid_name);
    let pid = pid.and_then(parse_number);
    Some(Report::Terminal {
        pid: source.or_reject(which, pid)?,
        json: source.get(json) == Some(b"yes"),
    })
}

pub(super) fn watcher(value: &[u8]) -> Option<Watcher> {
    let mut numbers = value.split(|byte| *byte == b':').map(parse_number);
    let mut next = || numbers.next().flatten();
    Some(Watcher {
        program: next()?,
        pid: next()?,
        fd: next()?,
    })
}

pub(super) fn default_size(source: &mut Source<'_, '_>, name: &'static str) -> DefaultSize {
    match source.non_empty(name) {
        None => DefaultSize::Kernel,
        Some(_) => length(source, name).map_or(DefaultSize::None, DefaultSize::Size),
    }
}

/// Whether `map_hugetlb` is on. The last word counts; an unknown word rejects the value.
pub(super) fn map_hugetlb(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    const NO_EFFECT: [&[u8]; 3] = [b"", b"private_reservations", b"noreserve_safe"];
    let mut is_on = true;
    let value = source.get(name).unwrap_or_default();
    for word in value.split(|byte| *byte == b',') {
        let (feature, on) = match word.strip_prefix(b"no_") {
            Some(feature) if !feature.is_empty() => (feature, false),
            _ => (word, true),
        };
        match feature {
            b"map_hugetlb" => is_on = on,
            feature if NO_EFFECT.contains(&feature) => {}
            _ => {
                source.reject(name);
                return true;
            }
        }
    }
    is_on
}
