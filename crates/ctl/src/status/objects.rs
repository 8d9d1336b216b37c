//! Which addresses of a process are text, data and bss, by the headers of the
//! files that are mapped.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_contract::segment::{Extent, Segment};
use hugetools_elf::{Class, Elf, Endian, Load};
use hugetools_model::Root;
use hugetools_model::process::{Auxv, Pid, Words};
use hugetools_model::smaps::Record;

use super::mappings::Mappings;
use crate::files;

/// Addresses whose meaning is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    start: u64,
    end: u64,
    segment: Segment,
    object: Vec<u8>,
}

impl Known {
    /// Whether it is of this kind and of this file.
    pub(super) fn is(&self, segments: &[Segment], object: &[u8]) -> bool {
        segments.contains(&self.segment) && self.object == object
    }

    /// Its addresses.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        self.start..self.end
    }

    pub(super) fn extent(&self) -> Extent<'_> {
        Extent {
            start: self.start,
            end: self.end,
            segment: self.segment,
            object: Some(&self.object),
        }
    }
}

/// A file, and all its mappings.
struct Object<'s> {
    name: &'s [u8],
    mappings: Vec<Record<'s>>,
}

impl Object<'_> {
    fn is_executed(&self) -> bool {
        self.mappings.iter().any(|record| record.executable)
    }
}

/// What the kernel calls private pages of a pool that are of no file.
const ANONYMOUS: &[u8] = b"/anon_hugepage";

/// What the kernel adds to the name of a file that is gone.
const DELETED: &[u8] = b" (deleted)";

/// Finds text, data and bss of the program and its libraries. Best knowledge
/// comes first: a copy that took the place of a segment lies within it.
pub(super) fn find(root: &Root, pid: Pid, exe: &[u8], mappings: &Mappings) -> Vec<Known> {
    let (mut known, mut guessed) = (Vec::new(), Vec::new());
    let auxv = root.read(&pid.path("auxv")).unwrap_or_default();
    for object in objects(mappings, exe) {
        let is_exe = object.name == exe;
        let elf = match is_copy(object.name) {
            true => None,
            false => open(root, pid, &object, is_exe),
        };
        match elf.and_then(|elf| by_headers(&auxv, &object, &elf, is_exe)) {
            Some(found) if is_exe || object.is_executed() || runs(&found, mappings) => {
                known.extend(found);
            }
            Some(_) => {}
            None if object.is_executed() => guessed.extend(by_rights(&object)),
            None => {}
        }
    }
    known.extend(guessed);
    known
}

/// All files that are mapped privately, and the program in any case: all its
/// segments may be elsewhere. Those of which nothing is executed are there only
/// where code may have been replaced by a copy.
fn objects<'s>(mappings: &'s Mappings, exe: &'s [u8]) -> Vec<Object<'s>> {
    let mut objects = vec![Object {
        name: exe,
        mappings: Vec::new(),
    }];
    for record in mappings.records() {
        if record.shared || record.inode == 0 || !record.name.starts_with(b"/") {
            continue;
        }
        match objects
            .iter_mut()
            .rev()
            .find(|object| object.name == record.name)
        {
            Some(object) => object.mappings.push(record),
            None => objects.push(Object {
                name: record.name,
                mappings: vec![record],
            }),
        }
    }
    let has_copies = mappings.records().any(|record| is_code_of_no_file(&record));
    objects.retain(|object| has_copies || object.name == exe || object.is_executed());
    objects
}

/// Whether code lies there that is mapped from no file, or from a copy.
fn is_code_of_no_file(record: &Record<'_>) -> bool {
    let is_file = record.name.starts_with(b"/") && !is_copy(record.name) && record.hugetlb == 0;
    record.executable && !is_file && !matches!(record.name, b"[vdso]" | b"[vsyscall]")
}

/// Whether a file is one in memory, which has no headers of its own.
fn is_copy(name: &[u8]) -> bool {
    name.starts_with(b"/memfd:") || name.starts_with(ANONYMOUS)
}

/// Whether code is executed where an object's text would be, so that it is
/// loaded and not just read.
fn runs(found: &[Known], mappings: &Mappings) -> bool {
    let text = || found.iter().filter(|known| known.segment == Segment::Text);
    let code = mappings.records().filter(is_code_of_no_file);
    code.into_iter()
        .any(|code| text().any(|text| text.start < code.end && code.start < text.end))
}

/// Opens the file that is mapped: by the mapping itself, which needs rights,
/// else by its name, if that still means the same file.
fn open(root: &Root, pid: Pid, object: &Object<'_>, is_exe: bool) -> Option<Elf<File>> {
    let first = object.mappings.first();
    let proc = [
        first.map(|first| pid.map_file(first.start, first.end)),
        is_exe.then(|| pid.path("exe")),
    ];
    if root.is_live() {
        for path in proc.into_iter().flatten() {
            if let Some(elf) = files::open_elf(Path::new(path.as_str())) {
                return Some(elf);
            }
        }
    }
    if object.name.ends_with(DELETED) {
        return None;
    }
    let name = Path::new(OsStr::from_bytes(object.name));
    let candidates = match root.prefix() {
        None => vec![
            PathBuf::from(pid.path("root").as_str()).join(name.strip_prefix("/").ok()?),
            name.to_owned(),
        ],
        Some(prefix) => vec![inside(prefix, &root.host_path(name))?],
    };
    let same = |file: &File| {
        let inode = file.metadata().map(|metadata| metadata.ino());
        !root.is_live() || inode.is_ok_and(|inode| first.is_none_or(|first| inode == first.inode))
    };
    candidates.iter().find_map(|path| {
        let (file, _) = files::open_regular(path).ok()?;
        same(&file).then(|| Elf::read(file).ok()).flatten()
    })
}

/// The file, if no link leads out of the recorded tree.
fn inside(prefix: &Path, path: &Path) -> Option<PathBuf> {
    let (prefix, path) = (prefix.canonicalize().ok()?, path.canonicalize().ok()?);
    path.starts_with(&prefix).then_some(path)
}

/// What the program headers say, at the place where the object is loaded;
/// `None` where that cannot be told. `auxv` is what the kernel told the program.
fn by_headers(
    auxv: &[u8],
    object: &Object<'_>,
    elf: &Elf<File>,
    is_exe: bool,
) -> Option<Vec<Known>> {
    let words = Words {
        wide: elf.ident().class == Class::Elf64,
        big_endian: elf.ident().endian == Endian::Big,
    };
    let auxv = Auxv::parse(auxv, words);
    let told = match (is_exe, auxv.phdr, elf.header_address()) {
        (true, Some(loaded), Some(address)) => Some(loaded.wrapping_sub(address)),
        _ => None,
    };
    let bias = told.or_else(|| bias(&object.mappings, elf.loads()))?;
    let page = auxv
        .page_size
        .filter(|page| page.is_power_of_two())
        .unwrap_or(1);
    let known = elf.loads().iter().flat_map(|load| parts(load, bias, page));
    let known = known
        .filter(|(start, end, _)| start < end)
        .map(|(start, end, segment)| Known {
            start,
            end,
            segment,
            object: object.name.to_vec(),
        });
    Some(known.collect())
}

/// How far the object was moved: the difference for a part whose beginning is
/// mapped.
fn bias(mappings: &[Record<'_>], loads: &[Load]) -> Option<u64> {
    loads.iter().find_map(|load| {
        let mapped = mappings.iter().find(|record| {
            let into = load.offset.checked_sub(record.offset);
            into.is_some_and(|into| into < record.mapped())
        })?;
        let address = mapped.start + (load.offset - mapped.offset);
        Some(address.wrapping_sub(load.address))
    })
}

/// Text, or data and bss; the kernel maps whole pages.
fn parts(load: &Load, bias: u64, page: u64) -> Vec<(u64, u64, Segment)> {
    let down = |address: u64| address & !(page - 1);
    let up = |address: u64| down(address.saturating_add(page - 1));
    let start = down(load.address.wrapping_add(bias));
    let file_end = load.file_end().wrapping_add(bias);
    let end = up(load.end().wrapping_add(bias));
    match (load.writable, load.memory_size > load.file_size) {
        (false, _) => vec![(start, end, Segment::Text)],
        (true, false) => vec![(start, end, Segment::Data)],
        (true, true) => vec![
            (start, file_end, Segment::Data),
            (file_end, end, Segment::Bss),
        ],
    }
}

/// Without headers: what cannot be written is text, what can is data. Memory of no file
/// is a copy of text where it is executed and cannot be written; else it is the
/// program's own, as a virtual machine's on pages of a pool.
fn by_rights(object: &Object<'_>) -> Vec<Known> {
    let is_anonymous = object.name.starts_with(ANONYMOUS);
    let is_text = |record: &&Record<'_>| record.executable && !record.writable;
    let mappings = object.mappings.iter();
    mappings
        .filter(|record| !is_anonymous || is_text(record))
        .map(|record| Known {
            start: record.start,
            end: record.end,
            segment: match record.writable {
                true => Segment::Data,
                false => Segment::Text,
            },
            object: object.name.to_vec(),
        })
        .collect()
}
