//! How programs are known: by their names, by what they need and show, and by
//! texts that their files hold even where they were stripped.

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Elf, Load};
use memchr::memmem;

use crate::files;
use crate::wrapped::base;

use super::table::{HASKELL, JEMALLOC, PREFIXED};

/// How a program is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Its file's name, or one that begins so before a version.
    Name(&'static str),
    /// A library that it needs; its name begins so.
    Needs(&'static str),
    /// A symbol that it shows to others.
    Defines(&'static str),
    /// What Go writes at the start of the data.
    GoBuild,
    /// Its constants have all of these texts, which are among [`TEXTS`].
    Holds(&'static [&'static [u8]]),
}

/// The texts that are looked for.
const TEXTS: [&[u8]; 3] = [JEMALLOC, PREFIXED, HASKELL];

/// What a program that is smaller holds is no run-time system and no allocator.
const LEAST: u64 = 256 << 10;

/// So much of a file is looked at.
const MOST: u64 = 64 << 20;

/// A program, as far as it was looked at.
pub(super) struct Examined<'a> {
    program: &'a Path,
    real: PathBuf,
    elf: Option<Elf<File>>,
    /// Which of [`TEXTS`] it holds.
    texts: OnceCell<[bool; TEXTS.len()]>,
}

impl Examined<'_> {
    pub(super) fn new(program: &Path) -> Examined<'_> {
        let real = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        Examined {
            program,
            elf: files::open_elf(&real),
            real,
            texts: OnceCell::new(),
        }
    }

    pub(super) fn is(&self, by: &By) -> bool {
        let elf = self.elf.as_ref();
        match by {
            By::Name(name) => [self.program, &self.real]
                .iter()
                .any(|path| is_named(base(path.as_os_str()), name)),
            By::Needs(name) => elf.is_some_and(|elf| needs(elf, name)),
            By::Defines(name) => elf.is_some_and(|elf| elf.defines(name).unwrap_or(false)),
            By::GoBuild => elf.is_some_and(|elf| self.is_of_go(elf)),
            By::Holds(texts) => elf.is_some_and(|elf| {
                let held = self.texts.get_or_init(|| self.find_texts(elf));
                let holds = |text: &&[u8]| {
                    let mut all = TEXTS.iter().zip(held);
                    all.any(|(known, is_held)| known == text && *is_held)
                };
                texts.iter().all(holds)
            }),
        }
    }

    /// Go's own tools look there, too: within the first 64 kB of what can be
    /// written.
    fn is_of_go(&self, elf: &Elf<File>) -> bool {
        const MAGIC: &[u8] = b"\xff Go buildinf:";
        let data = elf.loads().iter().find(|load| load.writable);
        let bytes = data.and_then(|data| self.read(data.offset, data.file_size.min(64 << 10)));
        bytes.is_some_and(|bytes| memmem::find(&bytes, MAGIC).is_some())
    }

    /// Looks through the constants: linkers put them apart from code, or, without
    /// that, into the one part that cannot be written.
    fn find_texts(&self, elf: &Elf<File>) -> [bool; TEXTS.len()] {
        let constant = |load: &&Load| !load.writable;
        let all: Vec<&Load> = elf.loads().iter().filter(constant).collect();
        let apart: Vec<&Load> = (all.iter().copied())
            .filter(|load| !load.executable)
            .collect();
        let sizes = all.iter().map(|load| load.file_size);
        if sizes.fold(0, u64::saturating_add) < LEAST {
            return [false; TEXTS.len()];
        }
        let loads = match is_first_alone(&all, &apart) {
            true => all,
            false => apart,
        };
        let mut found = [false; TEXTS.len()];
        for load in loads {
            self.look_through(load, |bytes| {
                for (text, found) in TEXTS.iter().zip(&mut found) {
                    *found |= memmem::find(bytes, text).is_some();
                }
            });
        }
        found
    }

    /// Shows a part of the file in pieces that overlap by more than the longest text.
    fn look_through(&self, load: &Load, mut show: impl FnMut(&[u8])) {
        const OVERLAP: usize = 64;
        let Ok((file, _)) = files::open_regular(&self.real) else {
            return;
        };
        let mut piece = vec![0; 256 << 10];
        let mut at = load.offset;
        let end = at.saturating_add(load.file_size.min(MOST));
        while at < end {
            let len = usize::try_from(end - at).map_or(piece.len(), |rest| rest.min(piece.len()));
            let read = file.read_at(&mut piece[..len], at).unwrap_or(0);
            show(&piece[..read]);
            if read <= OVERLAP {
                return;
            }
            at += (read - OVERLAP) as u64;
        }
    }

    fn read(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        let (file, _) = files::open_regular(&self.real).ok()?;
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        let read = file.read_at(&mut bytes, offset).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }
}

/// Whether what is apart from code is what lies before it: symbols and the like,
/// as some linkers do it, which leave the constants with the code.
fn is_first_alone(all: &[&Load], apart: &[&Load]) -> bool {
    let code = all.iter().find(|load| load.executable);
    code.is_some_and(|code| apart.iter().all(|load| load.offset < code.offset))
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
