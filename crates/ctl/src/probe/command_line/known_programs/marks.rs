//! How programs are known: by their names, by what they need and show, and by
//! texts that their files hold even where they were stripped.

use std::cell::OnceCell;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use hugetools_elf::{Elf, Load, Source};
use memchr::memmem::Finder;

use super::entry::{Entry, Inside, Text};
use crate::probe::command_line::wrapped::base;

/// Texts that stand in programs with an allocator of a kind inside.
const JEMALLOC: &[u8] = b"<jemalloc>: ";
const PREFIXED: &[u8] = b"_RJEM_MALLOC_CONF\0";
const HASKELL: &[u8] = b"Ignoring GHCRTS variable";

/// The texts that are looked for.
const TEXTS: [&[u8]; 3] = [JEMALLOC, PREFIXED, HASKELL];

/// What each allocator and run-time system that is known by texts asks of the
/// kernel, and few other programs do.
const ASKED_BY_ALL: &str = "madvise";

/// The library that programs in Haskell need.
const OF_HASKELL: &str = "libgmp.so";

/// What a program that is smaller holds is no run-time system and no allocator.
const LEAST: u64 = 256 << 10;

/// So much of the constants is looked at on either side: linkers put texts first,
/// and the libraries inside a program last.
const SIDE: u64 = 1 << 20;

/// So much is, where it is likely that something is found.
const LIKELY: u64 = 32 << 20;

/// A program, as far as it was looked at.
pub(super) struct Examined<'a> {
    /// The names of its file, and of the one that a link leads to.
    names: [Option<Vec<u8>>; 2],
    elf: Option<&'a Elf<File>>,
    /// Which of [`TEXTS`] it holds.
    texts: OnceCell<[bool; TEXTS.len()]>,
}

impl<'a> Examined<'a> {
    pub(super) fn new(program: &'a Path, elf: Option<&'a Elf<File>>) -> Examined<'a> {
        let is_link = std::fs::read_link(program).is_ok();
        let real = is_link.then(|| std::fs::canonicalize(program).ok());
        let name = |path: &Path| base(path.as_os_str()).to_vec();
        Examined {
            names: [Some(name(program)), real.flatten().as_deref().map(name)],
            elf,
            texts: OnceCell::new(),
        }
    }

    /// Whether an entry fits it.
    pub(super) fn fits(&self, entry: &Entry) -> bool {
        let has_name = |name: &Text| self.names.iter().flatten().any(|file| is_named(file, name));
        let Some(elf) = self.elf else {
            return entry.exe.iter().any(has_name);
        };
        entry.exe.iter().any(has_name)
            || entry.needed.iter().any(|name| needs(elf, name))
            || entry.symbols.iter().any(|name| shows(elf, name))
            || entry.inside.is_some_and(|inside| self.has(elf, inside))
    }

    fn has(&self, elf: &Elf<File>, inside: Inside) -> bool {
        let texts: &[&[u8]] = match inside {
            Inside::Go => return is_of_go(elf),
            Inside::Haskell => &[HASKELL],
            Inside::Jemalloc => &[JEMALLOC],
            Inside::PrefixedJemalloc => &[JEMALLOC, PREFIXED],
        };
        let held = self.texts.get_or_init(|| find_texts(elf));
        let holds = |text: &&[u8]| {
            let mut all = TEXTS.iter().zip(held);
            all.any(|(known, is_held)| known == text && *is_held)
        };
        texts.iter().all(holds)
    }
}

/// Whether it shows a symbol to others. A table that cannot be read shows none.
fn shows(elf: &Elf<File>, name: &str) -> bool {
    matches!(elf.defines(name), Ok(true))
}

/// Go's linker leaves a note, unless it was told to leave it out, and a section, which other
/// linkers put anywhere and tools may strip of its name.
fn is_of_go(elf: &Elf<File>) -> bool {
    matches!(elf.has_note(b"Go"), Ok(true))
        || has_magic_of_go(elf)
        || matches!(elf.has_section(b".go.buildinfo"), Ok(true))
}

/// Go's own tools look there, too: within the first 64 kB of what can be written,
/// at addresses that are multiples of 16. Where that was left out, what Go
/// 1.24 and later check themselves by is there.
fn has_magic_of_go(elf: &Elf<File>) -> bool {
    const MAGIC: [&[u8]; 2] = [b"\xff Go buildinf:", b"\xff Go fipsinfo \xff\0"];
    const ALIGN: usize = 16;
    let Some(data) = elf.loads().iter().find(|load| load.writable) else {
        return false;
    };
    let skipped = data.address.wrapping_neg() % ALIGN as u64;
    let len = data.file_size.min(64 << 10).saturating_sub(skipped);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let read = elf.source().read_at(data.offset + skipped, &mut bytes);
    let places = bytes[..read.unwrap_or(0)].chunks(ALIGN);
    places
        .into_iter()
        .any(|place| MAGIC.iter().any(|magic| place.starts_with(magic)))
}

/// Looks through the constants, where the program may have something of that
/// kind: reading all of a large one would delay its start.
fn find_texts(elf: &Elf<File>) -> [bool; TEXTS.len()] {
    let mut found = [false; TEXTS.len()];
    let is_dynamic = elf.interpreter().is_some();
    if is_dynamic && matches!(elf.refers_to(&[ASKED_BY_ALL]), Ok(None)) {
        return found;
    }
    let finders = TEXTS.map(Finder::new);
    let wider = needs(elf, OF_HASKELL).then(|| constants(elf, LIKELY));
    let parts = constants(elf, SIDE).into_iter();
    for part in parts.chain(wider.into_iter().flatten()) {
        // It comes before the others in what is known.
        if TEXTS
            .iter()
            .zip(&found)
            .any(|(text, is)| *is && *text == HASKELL)
        {
            break;
        }
        look_through(elf.source(), part, |bytes| {
            for (finder, found) in finders.iter().zip(&mut found) {
                *found = *found || finder.find(bytes).is_some();
            }
        });
    }
    found
}

/// The parts of a file that are looked through: of what cannot be written that
/// with the unwinder's table, since linkers put the constants before it.
fn constants(elf: &Elf<File>, side: u64) -> Vec<Range<u64>> {
    let all: Vec<&Load> = elf.loads().iter().filter(|load| !load.writable).collect();
    let sizes = all.iter().map(|load| load.file_size);
    if sizes.fold(0, u64::saturating_add) < LEAST {
        return Vec::new();
    }
    let before = elf.unwinder_offset().and_then(|end| {
        let holds = |load: &&&Load| load.offset <= end && end - load.offset < load.file_size;
        Some((*all.iter().find(holds)?, end))
    });
    match before {
        Some((load, end)) => sides(load, end, side).into(),
        None => (all.iter())
            .flat_map(|load| sides(load, load.offset.saturating_add(load.file_size), side))
            .collect(),
    }
}

/// The beginning of a part, unless code lies there, and what comes before `end`.
fn sides(load: &Load, end: u64, side: u64) -> [Range<u64>; 2] {
    let back = end.saturating_sub(side).max(load.offset);
    let front = load.offset.saturating_add(side);
    match (load.executable, front < back) {
        (true, _) => [back..end, end..end],
        (false, true) => [load.offset..front, back..end],
        (false, false) => [load.offset..end, end..end],
    }
}

/// Shows a part of the file in pieces that overlap by more than the longest text.
fn look_through(file: &File, part: Range<u64>, mut show: impl FnMut(&[u8])) {
    const OVERLAP: usize = 64;
    const PIECE: usize = 64 << 10;
    let mut piece = vec![0; PIECE];
    let mut at = part.start;
    while at < part.end {
        let len = usize::try_from(part.end - at).map_or(PIECE, |rest| rest.min(PIECE));
        let read = Source::read_at(file, at, &mut piece[..len]).unwrap_or(0);
        show(&piece[..read]);
        if read <= OVERLAP || at + read as u64 >= part.end {
            return;
        }
        at += (read - OVERLAP) as u64;
    }
}

/// `php` and `php8.2`, but not `phpize`.
pub(super) fn is_named(file: &[u8], name: &str) -> bool {
    let rest = file.strip_prefix(name.as_bytes());
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-';
    rest.is_some_and(|rest| rest.iter().all(is_version))
}

fn needs(elf: &Elf<File>, name: &str) -> bool {
    let mut needed = elf
        .dynamic()
        .into_iter()
        .flat_map(|dynamic| &dynamic.needed);
    needed.any(|library| library.starts_with(name.as_bytes()))
}
