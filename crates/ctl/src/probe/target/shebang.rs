//! The first line of a script, by the kernel's rules.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// How much of a file the kernel looks at, since Linux 5.1.
pub(crate) const LOOKED_AT: usize = 256;

/// How many scripts may lead from one to the next before the program.
pub(crate) const DEEPEST: usize = 5;

/// A script's first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The program that runs the script, found without `PATH`.
    pub(crate) interpreter: PathBuf,
    /// Its argument: all that follows, blanks included.
    pub(crate) argument: Option<OsString>,
}

/// What a file's first bytes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// `#!` and a program.
    Script(Line),
    /// An ELF file.
    Elf,
    /// Neither: the shell runs it, if no handler is registered for it.
    Text,
}

/// Looks at the first [`LOOKED_AT`] bytes of a file, or at all of a shorter
/// one.
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

/// `rest` is what follows `#!`. A name that may go on behind what is looked at
/// counts as no name.
fn parse_line(rest: &[u8], looked_at: usize) -> Option<Line> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (line, whole) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&rest[..end], true),
        None => (rest, looked_at < LOOKED_AT),
    };
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let line = &line[start..];
    let end = line.iter().position(|byte| is_blank(byte) || *byte == 0);
    let (name, rest) = match end {
        Some(end) => line.split_at(end),
        None if whole => (line, &[][..]),
        None => return None,
    };
    if name.is_empty() {
        return None;
    }
    let argument = match rest.first() {
        Some(0) | None => &[][..],
        Some(_) => rest.split(|byte| *byte == 0).next().unwrap_or_default(),
    };
    let argument = trim_blanks(argument);
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

    fn just(name: &str) -> Option<(String, Option<String>)> {
        Some((name.to_owned(), None))
    }

    #[test]
    fn first_lines() {
        assert_eq!(line(b"#!/bin/sh\necho"), just("/bin/sh"));
        assert_eq!(line(b"#! \t/bin/sh \t\n"), just("/bin/sh"));
        let awk = Some(("/usr/bin/awk".to_owned(), Some("-f -v".to_owned())));
        assert_eq!(line(b"#!/usr/bin/awk  -f -v \n"), awk);
        assert_eq!(line(b"#!/bin/sh"), just("/bin/sh"));
        assert_eq!(line(b"#!/bin/sh\0x\n"), just("/bin/sh"));
        assert_eq!(line(b"#!/bin/sh\r\n"), just("/bin/sh\r"));
    }

    #[test]
    fn what_is_no_script() {
        for head in [
            &b"#!\n/bin/sh\n"[..],
            b"#!",
            b"#!  \n",
            b"# !/bin/sh\n",
            b"",
            b"echo",
        ] {
            assert_eq!(parse(head), Head::Text, "{head:?}");
        }
        assert_eq!(parse(b"\x7fELF"), Head::Elf);
    }

    #[test]
    fn a_name_that_may_be_cut_off_counts_as_none() {
        let mut head = [b'x'; LOOKED_AT];
        head[..3].copy_from_slice(b"#!/");
        assert_eq!(parse(&head), Head::Text);
        head[100] = b' ';
        assert!(matches!(parse(&head), Head::Script(_)));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(rest in prop::collection::vec(any::<u8>(), 0..254)) {
            let mut head = b"#!".to_vec();
            head.extend(rest);
            let _ = parse(&head);
        }
    }
}
