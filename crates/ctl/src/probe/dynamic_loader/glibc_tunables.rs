//! `GLIBC_TUNABLES`: settings of glibc's malloc.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use memchr::memmem;

use crate::files;

pub(crate) const VARIABLE: &str = "GLIBC_TUNABLES";

/// Huge pages for `malloc` (glibc 2.35): 1 for transparent ones, 2 for the default pool, else
/// a pool's page size in bytes.
pub(crate) const HUGETLB: &str = "glibc.malloc.hugetlb";

/// Minimum size of a block that gets its own mapping.
pub(crate) const MMAP_THRESHOLD: &str = "glibc.malloc.mmap_threshold";

/// The value up to which glibc raises the threshold by itself. We set it from the start because
/// a mapping smaller than a huge page gets none.
pub(crate) const LARGEST_THRESHOLD: u64 = 4 * size_of::<usize>() as u64 * (1 << 20);

/// Bytes that glibc requests beyond its need.
pub(crate) const TOP_PAD: &str = "glibc.malloc.top_pad";

/// The padding for a heap on pool pages. glibc maps whole pages for each growth and loses the
/// rest of the last one: with its default of 128 kB, blocks of 1 MiB took a page of 2 MiB
/// each; with this value, 200 MB take 240 MB. A larger value loses less, but a growth that the
/// pool cannot serve whole goes to base pages.
pub(crate) const POOL_PAD: u64 = 4 << 20;

pub(crate) fn value<'l>(list: Option<&'l OsStr>, name: &str) -> Option<&'l [u8]> {
    let mut entries = list?.as_bytes().split(|byte| *byte == b':');
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Appends tunables to a list.
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

/// Whether a static program or a loader has a glibc that knows [`HUGETLB`]: the file then
/// contains this name. False if it cannot be read.
pub(crate) fn is_known_to(program: &Path) -> bool {
    let file = files::open_regular(program);
    file.is_ok_and(|(file, _)| contains(file, HUGETLB.as_bytes()).unwrap_or(false))
}

/// Searches a file in steps, since static programs may be large.
fn contains(mut file: impl Read, text: &[u8]) -> io::Result<bool> {
    const STEP: u64 = 1 << 18;
    let mut window = Vec::new();
    while file.by_ref().take(STEP).read_to_end(&mut window)? > 0 {
        if memmem::find(&window, text).is_some() {
            return Ok(true);
        }
        // The text may lie across the boundary.
        let kept = window.len().min(text.len() - 1);
        window.drain(..window.len() - kept);
    }
    Ok(false)
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
        fn a_text_is_found_wherever_it_lies(before in 0usize..600_000, behind in 0usize..10) {
            let mut bytes = vec![b'g'; before];
            bytes.extend(HUGETLB.bytes());
            bytes.extend(vec![b'g'; behind]);
            prop_assert!(contains(&bytes[..], HUGETLB.as_bytes()).unwrap());
            bytes.truncate(before + HUGETLB.len() - 1);
            prop_assert!(!contains(&bytes[..], HUGETLB.as_bytes()).unwrap());
        }
    }
}
