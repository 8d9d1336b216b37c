//! `LD_PRELOAD`: our library first, others as they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY, VERSIONED};

use crate::probe::dynamic_loader::Loader;
use crate::probe::library::is_ours;

fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b':'
}

/// The entries of a list; loaders take blanks and colons alike.
fn entries(list: &OsStr) -> impl Iterator<Item = &[u8]> {
    let entries = list.as_bytes().split(|byte| is_separator(*byte));
    entries.filter(|entry| !entry.is_empty())
}

/// Which entries of the list are libraries of ours, put there by another
/// hugectl. A bare name is looked for as the loader does.
pub(crate) fn ours(list: &OsStr, loader: &Loader<'_>) -> Vec<Vec<u8>> {
    let ours = |entry: &&[u8]| {
        let path = Path::new(OsStr::from_bytes(entry));
        let named = |name: &&str| path.file_name() == Some(OsStr::new(name));
        if ![LIBRARY, HEAP_LIBRARY, VERSIONED].iter().any(named) {
            return false;
        }
        match entry.contains(&b'/') {
            true => is_ours(path),
            false => {
                let found: Option<PathBuf> = loader.find_preload(entry).map(|(path, _)| path);
                found.is_some_and(|path| is_ours(&path))
            }
        }
    };
    entries(list).filter(ours).map(<[u8]>::to_vec).collect()
}

/// A preloaded library whose `malloc` ours replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherMalloc {
    /// The entry of the list.
    pub(crate) entry: OsString,
    /// Whether it is an allocator that `--anon` reaches, and no tool that watches one.
    pub(crate) is_reached_by_anon: bool,
}

/// The list in the environment that a process was started with (`/proc/PID/environ`).
pub(crate) fn in_environ(environ: &[u8]) -> Option<&OsStr> {
    let mut entries = environ.split(|byte| *byte == 0);
    let list = entries.find_map(|entry| entry.strip_prefix(b"LD_PRELOAD="));
    list.map(OsStr::from_bytes)
}

/// Allocators that take mappings or move the program break, by the names of their files.
const REACHED_BY_ANON: [&str; 3] = ["jemalloc", "mimalloc", "tcmalloc"];

/// Finds the libraries of the list that define `malloc`, but for those in `without`.
pub(crate) fn other_mallocs(
    list: &OsStr,
    without: &[Vec<u8>],
    loader: &Loader<'_>,
) -> Vec<OtherMalloc> {
    let others = entries(list).filter(|entry| !without.iter().any(|ours| ours == entry));
    let other = |entry: &[u8]| {
        let (_, elf) = loader.find_preload(entry)?;
        let defines = |name: &str| matches!(elf.defines(name), Ok(true));
        let entry = OsStr::from_bytes(entry).to_owned();
        let name = entry.to_string_lossy();
        // Tools that watch allocators define the names of all of them.
        let is_reached_by_anon = REACHED_BY_ANON.iter().any(|known| name.contains(known));
        defines("malloc").then(|| OtherMalloc {
            is_reached_by_anon,
            entry: entry.clone(),
        })
    };
    others.filter_map(other).collect()
}

/// The list with `library` first and the entries in `without` taken out. The
/// others keep their order and their separators.
pub(crate) fn merge(library: &OsStr, list: Option<&OsStr>, without: &[Vec<u8>]) -> OsString {
    let mut merged = library.as_bytes().to_vec();
    let mut separator = b':';
    let mut start = 0;
    let list = list.unwrap_or_default().as_bytes();
    for end in 0..=list.len() {
        let at_end = list.get(end).copied();
        if at_end.is_some_and(|byte| !is_separator(byte)) {
            continue;
        }
        let entry = &list[start..end];
        if !entry.is_empty() && entry != library.as_bytes() && !without.iter().any(|w| w == entry) {
            merged.push(separator);
            merged.extend(entry);
        }
        separator = match (merged.len() == library.len(), at_end) {
            // The first of the others follows ours.
            (true, _) | (_, None) => b':',
            (false, Some(byte)) => byte,
        };
        start = end + 1;
    }
    OsString::from_vec(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(list: Option<&str>, without: &[&str]) -> String {
        let without: Vec<_> = without
            .iter()
            .map(|entry| entry.as_bytes().to_vec())
            .collect();
        merge(OsStr::new("/o/h.so"), list.map(OsStr::new), &without)
            .into_string()
            .unwrap()
    }

    #[test]
    fn ours_comes_first_and_others_stay() {
        assert_eq!(merged(None, &[]), "/o/h.so");
        assert_eq!(merged(Some(""), &[]), "/o/h.so");
        assert_eq!(merged(Some("a.so"), &[]), "/o/h.so:a.so");
        assert_eq!(merged(Some("a b:c"), &[]), "/o/h.so:a b:c");
        assert_eq!(merged(Some(" a  b "), &[]), "/o/h.so:a b");
    }

    #[test]
    fn earlier_entries_of_ours_go() {
        assert_eq!(merged(Some("/x/h.so"), &["/x/h.so"]), "/o/h.so");
        assert_eq!(merged(Some("/x/h.so a"), &["/x/h.so"]), "/o/h.so:a");
        assert_eq!(merged(Some("a /x/h.so b"), &["/x/h.so"]), "/o/h.so:a b");
        assert_eq!(merged(Some("a:/o/h.so:b"), &[]), "/o/h.so:a:b");
    }

    proptest! {
        #[test]
        fn merging_twice_is_merging_once(list in "[ab: ]{0,12}") {
            let once = merged(Some(&list), &["b"]);
            prop_assert_eq!(&merged(Some(&once), &["b"]), &once);
            let others = |list: &str| -> Vec<String> {
                let entries = list.split([' ', ':']).filter(|entry| !entry.is_empty());
                entries.filter(|entry| !["b", "/o/h.so"].contains(entry)).map(str::to_owned).collect()
            };
            prop_assert_eq!(others(&once), others(&list));
            prop_assert!(once.starts_with("/o/h.so"));
        }
    }
}
