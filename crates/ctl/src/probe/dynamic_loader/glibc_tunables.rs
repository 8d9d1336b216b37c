//! `GLIBC_TUNABLES`: what a glibc is told about huge pages.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::files;

/// The variable.
pub(crate) const VARIABLE: &str = "GLIBC_TUNABLES";

/// Huge pages for `malloc`, since glibc 2.35: 1 for transparent ones, 2 for
/// those of the default pool, else the size of another pool's.
pub(crate) const HUGETLB: &str = "glibc.malloc.hugetlb";

/// From which size on a block is a mapping of its own.
pub(crate) const MMAP_THRESHOLD: &str = "glibc.malloc.mmap_threshold";

/// The largest threshold that glibc takes, and the one that it comes to by
/// itself with time. From the start, because a mapping that is smaller than a
/// huge page gets none: of 200 kB blocks not one.
pub(crate) const LARGEST_THRESHOLD: u64 = 4 * size_of::<usize>() as u64 * (1 << 20);

/// By how much glibc asks for more than it needs just now.
pub(crate) const TOP_PAD: &str = "glibc.malloc.top_pad";

/// That amount with pages of a pool. glibc maps such memory anew for each
/// growth, in whole pages, and loses what is left of the last one: with its own
/// 128 kB, blocks of 1 MiB took a page of 2 MiB each, 400 MB for 200. With this
/// one they take 240. With more they take less, 217 with 16 MiB, but once a pool
/// cannot hold a growth glibc asks it no more, and what it has left is lost.
pub(crate) const POOL_PAD: u64 = 4 << 20;

/// The value that the list gives to a tunable.
pub(crate) fn value<'l>(list: Option<&'l OsStr>, name: &str) -> Option<&'l [u8]> {
    let mut entries = list?.as_bytes().split(|byte| *byte == b':');
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// The list with tunables added behind what is there.
pub(crate) fn with(list: Option<&OsStr>, more: &[(&str, u64)]) -> OsString {
    let mut merged = list.unwrap_or_default().as_bytes().to_vec();
    for (name, value) in more {
        if !merged.is_empty() && !merged.ends_with(b":") {
            merged.push(b':');
        }
        merged.extend(format!("{name}={value}").bytes());
    }
    OsString::from_vec(merged)
}

/// Whether a file, a static program or a loader, is of a glibc that knows the
/// tunable: its name is then somewhere in it.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn is_known_to(program: &Path) -> io::Result<bool> {
    let (file, _) = files::open_regular(program)?;
    holds(file, HUGETLB.as_bytes())
}

fn holds(mut file: impl Read, name: &[u8]) -> io::Result<bool> {
    const STEP: usize = 1 << 18;
    let mut window: Vec<u8> = Vec::with_capacity(STEP + name.len());
    loop {
        let read = file.by_ref().take(STEP as u64).read_to_end(&mut window)?;
        if read == 0 {
            return Ok(false);
        }
        if find(&window, name) {
            return Ok(true);
        }
        let tail = window.len().min(name.len() - 1);
        window.drain(..window.len() - tail);
    }
}

fn find(bytes: &[u8], name: &[u8]) -> bool {
    let Some(first) = name.first() else {
        return true;
    };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        if rest[at..].starts_with(name) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tunables_are_added_and_found_by_their_whole_name() {
        let list = OsStr::new("glibc.malloc.arena_max=1:glibc.malloc.hugetlb=2");
        assert_eq!(value(Some(list), HUGETLB), Some(&b"2"[..]));
        assert_eq!(value(Some(list), "glibc.malloc.huge"), None);
        assert_eq!(value(None, HUGETLB), None);
        assert_eq!(with(None, &[(HUGETLB, 1)]), "glibc.malloc.hugetlb=1");
        let old = OsStr::new("glibc.malloc.arena_max=1");
        assert_eq!(
            with(Some(old), &[(HUGETLB, 1), (MMAP_THRESHOLD, 4)]),
            "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4"
        );
        assert_eq!(
            with(Some(OsStr::new("a=1:")), &[(HUGETLB, 1)]),
            "a=1:glibc.malloc.hugetlb=1"
        );
    }

    proptest! {
        #[test]
        fn a_name_is_found_wherever_it_lies(before in 0usize..600_000, behind in 0usize..10) {
            let mut bytes = vec![b'g'; before];
            bytes.extend(HUGETLB.bytes());
            bytes.extend(vec![b'g'; behind]);
            prop_assert!(holds(&bytes[..], HUGETLB.as_bytes()).unwrap());
            bytes.truncate(before + HUGETLB.len() - 1);
            prop_assert!(!holds(&bytes[..], HUGETLB.as_bytes()).unwrap());
        }
    }
}
