//! Transcripts of hugeedit. `tests/expected/hugeedit/*.txt` contain command lines,
//! their output (`2>&1`), the exit status if it is not 0, and every changed byte.
//!
//! `HUGETOOLS_BLESS=1 cargo test` rewrites all but commands and comments. The commands run in
//! a directory with the files of [`files`].

use std::fmt::Write;
use std::fs;

use super::made::{AARCH64, I386, Made, PPC, R, S390X, UNKNOWN, W, X, X86_64};
use super::place::{Place, difference};
use crate::support::bless;

/// Runs the commands of a transcript and returns the new transcript.
fn replay(place: &Place, expected: &str) -> String {
    let mut out = String::new();
    let mut before = place.snapshot();
    for line in expected.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                let done = place.shell(&format!("exec 2>&1; {command}"));
                write!(out, "{line}\n{}", place.neutral(&done.out)).unwrap();
                if done.status != 0 {
                    writeln!(out, "[status {}]", done.status).unwrap();
                }
                let after = place.snapshot();
                out += &difference(&before, &after);
                before = after;
            }
            None if line.starts_with("# ") => {
                let gap = if out.is_empty() { "" } else { "\n" };
                writeln!(out, "{gap}{line}").unwrap();
            }
            None => {}
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    let contexts = [("hugeedit ", "\n"), ("\"version\": \"", "\"")];
    contexts.iter().fold(out, |out, (before, after)| {
        out.replace(
            &format!("{before}{version}{after}"),
            &format!("{before}VERSION{after}"),
        )
    })
}

/// Creates programs for many machines, and files that are not programs.
fn files(place: &Place) {
    let usual = Made::usual(X86_64);
    place.file("program", usual.bytes());
    for (name, kind) in [
        ("i386", I386),
        ("s390x", S390X),
        ("ppc", PPC),
        ("aarch64", AARCH64),
        ("unknown", UNKNOWN),
    ] {
        place.file(name, Made::usual(kind).bytes());
    }
    let small = Made::small(X86_64);
    let typed = |file_type| Made {
        file_type,
        ..small.clone()
    };
    place.file("fixed", typed(2).bytes());
    place.file("object.o", typed(1).with(&[]).bytes());
    place.file("core", typed(4).bytes());
    place.file("text-only", usual.clone().with(&usual.loads[..2]).bytes());
    place.file("data-only", small.clone().with(&small.loads[2..]).bytes());
    // The writable segment of 32-bit PowerPC is executable.
    let powerpc = Made::small(PPC).with(&[[R | W | X, 0x1000, 0x1000, 0x100, 0x200, 0x1000]]);
    place.file("ppc-data", powerpc.bytes());
    let packed = [R | X, 0x1000, 0x41_1000, 0x100, 0x100, 0x1000];
    place.file("packed", small.clone().with(&[packed]).bytes());
    bad_files(place, &small);
}

/// Creates files that are no valid ELF files, and a directory.
fn bad_files(place: &Place, small: &Made) {
    let bytes = small.bytes();
    place.file("empty", b"");
    place.file("script", b"#!/bin/sh\n");
    place.file("magic", &bytes[..4]);
    place.file("header", &bytes[..40]);
    place.file("table", &bytes[..0x100]);
    place.file("cut", &bytes[..0x1000]);
    let mut class = bytes.clone();
    class[4] = 3;
    place.file("class", class);
    let mut order = bytes;
    order[5] = 7;
    place.file("order", order);
    fs::create_dir(place.work("dir")).unwrap();
    odd_numbers(place, small);
}

/// Creates files with impossible header values.
fn odd_numbers(place: &Place, small: &Made) {
    let table = |table| Made {
        table,
        ..small.clone()
    };
    let count = |count| Made {
        count: Some(count),
        ..small.clone()
    };
    let entry_size = Made {
        entry_size: Some(8),
        ..small.clone()
    };
    let one = |load| small.clone().with(&[load]);
    for (name, made) in [
        ("far", table(u64::MAX - 8)),
        ("inside", table(8)),
        ("size", entry_size),
        ("many", count(0xffff)),
        ("more", count(0xfffe)),
        (
            "shrinks",
            one([R | W, 0x1000, 0x1000, 0x200, 0x100, 0x1000]),
        ),
        (
            "wraps",
            one([R | W, 0x1000, u64::MAX - 8, 0, 0x100, 0x1000]),
        ),
        (
            "offset",
            one([R | W, u64::MAX - 8, 0x1000, 0x100, 0x100, 0x1000]),
        ),
    ] {
        place.file(name, made.bytes());
    }
}

fn compare(name: &str) {
    let place = Place::new();
    files(&place);
    let path = format!("tests/expected/hugeedit/{name}");
    bless::compare(&path, &replay(&place, &bless::read_text(&path))).unwrap();
}

#[test]
fn help_and_usage() {
    compare("usage.txt");
}

#[test]
fn marks() {
    compare("marks.txt");
}

#[test]
fn alignment() {
    compare("align.txt");
}

#[test]
fn bad_input() {
    compare("bad-input.txt");
}

#[test]
fn json_output() {
    compare("json.txt");
}
