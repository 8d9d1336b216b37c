//! Finds a process's text, data and bss by the program headers of its mapped files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugetools_contract::segment::{Extent, Segment};
use hugetools_elf::{Class, Elf, Load};
use hugetools_model::Root;
use hugetools_model::process::{Pid, auxv};
use hugetools_model::smaps::Record;

use crate::files;

/// A file and its private mappings.
struct Object<'s> {
    name: &'s [u8],
    mappings: Vec<Record<'s>>,
}

impl Object<'_> {
    fn is_executed(&self) -> bool {
        self.mappings.iter().any(|record| record.executable)
    }
}

/// Finds text, data and bss of the program and its libraries. A file without readable program
/// headers, such as a deleted library of another user, counts as a mapped file.
pub(crate) fn extents<'s>(
    root: &Root,
    pid: Pid,
    exe: &'s [u8],
    mappings: &[Record<'s>],
) -> Vec<Extent<'s>> {
    let auxv = root.read(&pid.path("auxv")).unwrap_or_default();
    let objects = objects(mappings, exe).into_iter();
    let extents = objects.filter_map(|object| {
        let is_exe = object.name == exe;
        let elf = open(root, pid, &object, is_exe)?;
        from_headers(&auxv, &object, &elf, is_exe)
    });
    extents.flatten().collect()
}

/// Returns the program, even if its file is not mapped, and all privately mapped files with code.
fn objects<'s>(mappings: &[Record<'s>], exe: &'s [u8]) -> Vec<Object<'s>> {
    let mut objects = vec![Object {
        name: exe,
        mappings: Vec::new(),
    }];
    let is_private_file =
        |record: &&Record<'_>| !record.shared && record.inode != 0 && record.name.starts_with(b"/");
    for record in mappings.iter().filter(is_private_file) {
        let mut known = objects.iter_mut().rev();
        match known.find(|object| object.name == record.name) {
            Some(object) => object.mappings.push(*record),
            None => objects.push(Object {
                name: record.name,
                mappings: vec![*record],
            }),
        }
    }
    objects.retain(|object| object.name == exe || object.is_executed());
    objects
}

/// Opens a mapped file: by `/proc/PID/map_files`, which needs privileges, by `/proc/PID/exe`, or by
/// name if the inode is still the same. A recorded tree has only names.
fn open(root: &Root, pid: Pid, object: &Object<'_>, is_exe: bool) -> Option<Elf> {
    let first = object.mappings.first();
    if root.is_live() {
        let mapped = first.map(|first| pid.map_file(first.start, first.end));
        let exe = is_exe.then(|| pid.path("exe"));
        let mut links = mapped.into_iter().chain(exe);
        if let Some(elf) = links.find_map(|path| files::open_elf(Path::new(path.as_str()))) {
            return Some(elf);
        }
    }
    let name = Path::new(OsStr::from_bytes(object.name));
    let path = match root.prefix() {
        None => Path::new(pid.path("root").as_str()).join(name.strip_prefix("/").ok()?),
        Some(_) => root.checked_path(name).ok()?,
    };
    let (file, metadata) = files::open_regular(&path).ok()?;
    let is_same = !root.is_live() || first.is_none_or(|first| first.inode == metadata.ino());
    is_same.then(|| Elf::read(file).ok()).flatten()
}

/// Returns the extents of the program headers; `None` if the load bias is unknown.
fn from_headers<'s>(
    auxv: &[u8],
    object: &Object<'s>,
    elf: &Elf,
    is_exe: bool,
) -> Option<Vec<Extent<'s>>> {
    let width = match elf.ident().class {
        Class::Elf64 => 8,
        Class::Elf32 => 4,
    };
    let value = |key| auxv::value(auxv, width, key);
    let bias = match (is_exe, value(auxv::PHDR), elf.header_address()) {
        (true, Some(loaded), Some(address)) => loaded.wrapping_sub(address),
        _ => bias(&object.mappings, elf.loads())?,
    };
    let page = value(auxv::PAGE_SIZE).filter(|page| page.is_power_of_two());
    let page = page.unwrap_or(1);
    let parts = elf.loads().iter().flat_map(|load| parts(load, bias, page));
    let parts = parts.filter(|(start, end, _)| start < end);
    let extents = parts.map(|(start, end, segment)| Extent {
        start,
        end,
        segment,
        object: Some(object.name),
    });
    Some(extents.collect())
}

/// Returns the load bias, found by a LOAD header whose start is mapped.
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

/// Splits a LOAD header into text, or data and bss, rounded to base pages.
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
