//! ELF files: hugeedit's changes, and hugectl's probe of its target.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hugetools_ctl::args;
use hugetools_ctl::caller::Caller;
use hugetools_ctl::plan;
use hugetools_ctl::probe::probe;
use hugetools_ctl::request::{Request, Run};
use hugetools_elf::{Edit, Elf, MARK, Marks, Refusal, Role, Table};
use hugetools_link::{Align, Change, file};
use hugetools_model::{Root, fixture};

use crate::engine::{archives, fuzz, kept};

const WORDS: &[&str] = &[
    "\x7fELF\x01\x01\x01",
    "\x7fELF\x02\x02\x01",
    "\x7fELF\x02\x01\x01",
    "\0\0\0\0\0\0\0\0",
    "\x01\0\0\0",
    "\0\0\0\x01",
    "\0\0\x20\0\0\0\0\0",
    "\0\0\0\0\0\x20\0\0",
    "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
    "#!/bin/sh\n",
    "/lib64/ld-linux-x86-64.so.2\0",
    "$ORIGIN/../",
];

/// Returns edits: bit 2 sets the marks in bits 0 and 1, and bit 3 one of four alignments.
fn edits() -> impl Iterator<Item = Edit> {
    (1..16u64).map(|n| Edit {
        marks: (n & 4 != 0).then_some(Marks {
            text: n & 1 != 0,
            data: n & 2 != 0,
        }),
        align: (n & 8 != 0).then_some(4096 << (n % 4 * 9)),
    })
}

fn kind(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::NotLoadable => 1,
        Refusal::NothingToMark => 2,
        Refusal::FixedAddresses => 3,
        Refusal::AlignOutOfRange(_) => 4,
        Refusal::Unaligned(_) => 6,
    }
}

/// Checks that a change did what was requested and nothing else.
fn check(bytes: &[u8], before: &Table, edit: &Edit, after: &Table) {
    let mut changed = bytes.to_vec();
    if let Some(patch) = before.patch(after) {
        let at = usize::try_from(patch.offset).unwrap();
        changed[at..at + patch.new.len()].copy_from_slice(&patch.new);
    }
    let again = Table::read(&changed[..]).unwrap();
    assert_eq!(again, *after);
    assert_eq!(before.segments.len(), after.segments.len());
    for (old, new) in before.segments.iter().zip(&after.segments) {
        assert_eq!((old.index, old.role), (new.index, new.role));
        assert_eq!(old.flags & !MARK, new.flags & !MARK);
        let mut load = new.load;
        load.align = old.load.align;
        load.marked = old.load.marked;
        assert_eq!(load, old.load);
        let wanted = match (edit.marks, old.role) {
            (None, _) => old.load.marked,
            (Some(marks), Some(Role::Text)) => marks.text,
            (Some(marks), Some(Role::Data)) => marks.data,
            (Some(_), None) => false,
        };
        assert_eq!(new.load.marked, wanted);
        assert!(new.load.align >= old.load.align);
        if new.load.align != old.load.align {
            assert_eq!(Some(new.load.align), edit.align);
            assert_eq!(
                new.load.address.wrapping_sub(new.load.offset) % new.load.align,
                0
            );
        }
    }
    // A second edit changes nothing.
    let second = again.edit(edit).unwrap().table;
    assert_eq!(again.patch(&second), None);
}

#[test]
fn tables() {
    fuzz("elf", kept("elf"), WORDS, |bytes| {
        let table = Table::read(bytes).ok()?;
        let mut shape = Vec::new();
        for edit in edits() {
            match table.edit(&edit) {
                Ok(edited) => {
                    check(bytes, &table, &edit, &edited.table);
                    shape.push((0, edited.missing.len(), edited.unaligned.len()));
                }
                Err(refusal) => shape.push((kind(&refusal), 0, 0)),
            }
        }
        Some((table.ident, table.segments.len().min(6), shape))
    });
}

#[test]
fn images() {
    fuzz("elf", kept("elf"), WORDS, |bytes| {
        let elf = Elf::read(bytes).ok()?;
        let dynamic = elf.dynamic();
        let names = ["mallocx", "gethugepagesize", ""];
        let found = names.map(|name| elf.defines(name).ok());
        let is_name = |found: &[u8]| names.iter().any(|name| name.as_bytes() == found);
        let refers = elf.refers_to(is_name).ok().map(|name| name.is_some());
        Some((
            elf.ident(),
            format!("{:?}", elf.kind()),
            elf.interpreter().map(<[u8]>::is_empty),
            dynamic.map(|d| {
                (
                    d.needed.len().min(4),
                    d.rpath.is_some(),
                    d.runpath.is_some(),
                )
            }),
            (found, refers, elf.header_address().is_some()),
        ))
    });
}

/// A file in memory that is rewritten for each input.
struct Scratch {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Scratch {
    fn new() -> Scratch {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let dir = dir.unwrap();
        let path = dir.path().join("program");
        Scratch { _dir: dir, path }
    }

    fn put(&self, bytes: &[u8]) {
        let mut options = OpenOptions::new();
        let options = options.create(true).write(true).truncate(true).mode(0o755);
        options.open(&self.path).unwrap().write_all(bytes).unwrap();
    }

    fn get(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut file = OpenOptions::new().read(true).open(&self.path).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }
}

/// hugeedit changes a file as the returned table says, or leaves it unchanged.
#[test]
fn files() {
    let scratch = Scratch::new();
    let change = Change {
        marks: Some(Marks {
            text: true,
            data: true,
        }),
        align: Some(Align::To(4096)),
    };
    fuzz("elf", kept("elf"), WORDS, |bytes| {
        scratch.put(bytes);
        let changed = file::change(&scratch.path, &change);
        let now = scratch.get();
        match changed {
            Err(failure) => {
                assert_eq!(now, bytes);
                let text = failure.to_string();
                assert!(text.starts_with(scratch.path.to_str().unwrap()), "{text}");
                Err(text.replace(|c: char| c.is_ascii_digit(), ""))
            }
            Ok(changed) => {
                assert_eq!(now.len(), bytes.len());
                assert_eq!(changed.edited.table, Table::read(&now[..]).unwrap());
                let differ = |(old, new): (&u8, &u8)| old != new;
                Ok(bytes.iter().zip(&now).filter(|pair| differ(*pair)).count())
            }
        }
    });
}

fn dry_run(program: &Path) -> Run {
    const WORDS: [&str; 7] = [
        "hugectl",
        "--dry-run",
        "--heap",
        "--shm",
        "--text",
        "--data",
        "--",
    ];
    let words = WORDS.map(OsString::from);
    let words = words.into_iter().chain([program.as_os_str().to_owned()]);
    let args = args::parse(words).unwrap();
    match Request::from_args(args) {
        Ok(Request::Run(run)) => run,
        other => panic!("{other:?}"),
    }
}

/// hugectl looks at its target and makes a plan, or fails with a message.
#[test]
fn targets() {
    let scratch = Scratch::new();
    let machine = tempfile::tempdir().unwrap();
    fixture::unpack(archives().last().unwrap(), machine.path()).unwrap();
    let root = Root::at(machine.path()).unwrap();
    let caller = Caller::this([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
    let run = dry_run(&scratch.path);
    fs::create_dir_all(scratch.path.with_file_name("lib")).unwrap();
    fuzz("elf", kept("elf"), WORDS, |bytes| {
        scratch.put(bytes);
        match probe(&mut run.clone(), &caller, &root, None, None) {
            Ok(found) => {
                let plan = plan::make(&run, &caller, &found);
                assert!(!plan.to_shell().is_empty());
                Ok((plan.variables.len(), plan.notes.len()))
            }
            Err(failure) => {
                let text = failure.to_string();
                assert!(!text.is_empty());
                Err((failure.status(), text.len()))
            }
        }
    });
}
