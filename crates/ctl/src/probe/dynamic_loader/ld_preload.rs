//! `LD_PRELOAD`: our library first, then the caller's. Entries are judged by their names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY, VERSIONED};

use crate::probe::command_line::wrappers::file_name;

/// Returns the entries of a list, which blanks and colons separate.
fn entries(list: &OsStr) -> impl Iterator<Item = &[u8]> {
    let entries = list.as_bytes().split(|byte| matches!(byte, b' ' | b':'));
    entries.filter(|entry| !entry.is_empty())
}

/// Whether an entry has the name of one of our libraries.
fn is_ours(entry: &[u8]) -> bool {
    let ours = [LIBRARY, HEAP_LIBRARY, VERSIONED].map(str::as_bytes);
    ours.contains(&file_name(OsStr::from_bytes(entry)))
}

/// Returns the entries with a known malloc, which ours replaces, and whether `--anon` reaches its
/// memory.
pub(crate) fn other_mallocs(list: &OsStr) -> impl Iterator<Item = (String, bool)> {
    /// Allocators that use mappings or the program break, and tools that watch malloc.
    const KNOWN: [(&str, bool); 5] = [
        ("jemalloc", true),
        ("mimalloc", true),
        ("tcmalloc", true),
        ("heaptrack", false),
        ("libmemusage", false),
    ];
    let names = entries(list).map(|entry| String::from_utf8_lossy(entry).into_owned());
    names.filter_map(|name| {
        let (_, is_reached) = KNOWN.iter().find(|(known, _)| name.contains(known))?;
        Some((name, *is_reached))
    })
}

/// Returns the list with `library` first and without our other entries.
pub(crate) fn merge(library: &OsStr, list: Option<&OsStr>) -> OsString {
    let others = entries(list.unwrap_or_default()).filter(|entry| !is_ours(entry));
    let all: Vec<&[u8]> = std::iter::once(library.as_bytes()).chain(others).collect();
    OsString::from_vec(all.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_library_comes_first_and_once() {
        let library = "/o/libhugetlbfs_heap.so";
        for (list, others) in [
            ("", ""),
            ("a.so", ":a.so"),
            (" a  b:c ", ":a:b:c"),
            ("/x/libhugetlbfs.so", ""),
            ("a libhugetlbfs.so.0 b", ":a:b"),
            ("a:/o/libhugetlbfs_heap.so:b", ":a:b"),
        ] {
            let merged = merge(OsStr::new(library), Some(OsStr::new(list)));
            assert_eq!(merged, *format!("{library}{others}"), "{list}");
        }
    }

    #[test]
    fn allocators_are_known_by_name() {
        let list = OsStr::new("/usr/lib/libjemalloc.so.2:libheaptrack_preload.so:libm.so");
        let found: Vec<bool> = other_mallocs(list)
            .map(|(_, is_reached)| is_reached)
            .collect();
        assert_eq!(found, [true, false]);
    }
}
