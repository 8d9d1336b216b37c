//! The first line of a script, by the kernel's rules.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Bytes at the start of a file that the kernel reads, since Linux 5.1.
pub(crate) const HEAD: usize = 256;

/// The kernel's limit on a chain of scripts.
pub(crate) const MOST_SCRIPTS: usize = 5;

/// A script's first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The path of the program that runs the script; `PATH` is not searched.
    pub(crate) interpreter: PathBuf,
    /// Its only argument: the rest of the line without blanks at both ends.
    pub(crate) argument: Option<OsString>,
}

/// The kind of a file, by its first bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    Script(Line),
    Elf,
    /// Neither. The shell runs it, unless binfmt_misc does.
    Text,
}

/// Parses the first [`HEAD`] bytes of a file, or all of a shorter one.
pub(crate) fn parse(head: &[u8]) -> Head {
    if head.starts_with(b"\x7fELF") {
        return Head::Elf;
    }
    match head
        .strip_prefix(b"#!")
        .and_then(|rest| parse_line(rest, head.len()))
    {
        Some(line) => Head::Script(line),
        None => Head::Text,
    }
}

/// Parses the text behind `#!`. `None` if the name is missing or may be cut off.
fn parse_line(rest: &[u8], read: usize) -> Option<Line> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (line, whole) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&rest[..end], true),
        None => (rest, read < HEAD),
    };
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let line = &line[start..];
    let end = line.iter().position(is_blank);
    let (name, rest) = match end {
        Some(end) => line.split_at(end),
        None if whole => (line, &[][..]),
        None => return None,
    };
    if name.is_empty() {
        return None;
    }
    let argument = trim_blanks(rest);
    Some(Line {
        interpreter: PathBuf::from(OsString::from_vec(name.to_vec())),
        argument: (!argument.is_empty()).then(|| OsString::from_vec(argument.to_vec())),
    })
}

fn trim_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(head: &[u8]) -> Option<(String, Option<String>)> {
        match parse(head) {
            Head::Script(line) => Some((
                line.interpreter.to_str().unwrap().to_owned(),
                line.argument.map(|a| a.into_string().unwrap()),
            )),
            _ => None,
        }
    }

    #[test]
    fn first_lines() {
        let sh = |name: &str| Some((name.to_owned(), None));
        let awk = ("/usr/bin/awk".to_owned(), Some("-f -v".to_owned()));
        for (head, expected) in [
            (&b"#!/bin/sh\necho"[..], sh("/bin/sh")),
            (b"#! \t/bin/sh \t\n", sh("/bin/sh")),
            (b"#!/usr/bin/awk  -f -v \n", Some(awk)),
            (b"#!/bin/sh", sh("/bin/sh")),
            (b"#!/bin/sh\r\n", sh("/bin/sh\r")),
            (b"#!\n/bin/sh\n", None),
            (b"#!", None),
            (b"#!  \n", None),
            (b"# !/bin/sh\n", None),
            (b"", None),
            // The name may be cut off.
            (&[b"#!/".as_slice(), &[b'x'; HEAD - 3]].concat(), None),
        ] {
            assert_eq!(line(head), expected, "{}", head.escape_ascii());
        }
        assert_eq!(parse(b"\x7fELF"), Head::Elf);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(rest in prop::collection::vec(any::<u8>(), 0..254)) {
            let _ = parse(&[&b"#!"[..], &rest].concat());
        }
    }
}
