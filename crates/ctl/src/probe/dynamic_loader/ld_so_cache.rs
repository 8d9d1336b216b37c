//! `/etc/ld.so.cache`: which file a library's name means, as `ldconfig` found.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The contents of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    entries: usize,
}

impl Cache {
    /// Takes the contents of the file. Old files hold an older table in front.
    /// What is no cache is an empty one.
    pub(crate) fn new(mut bytes: Vec<u8>) -> Cache {
        let found = bytes
            .windows(MAGIC.len())
            .position(|window| window == MAGIC);
        let Some(start) = found else {
            return Cache::default();
        };
        bytes.drain(..start);
        let claimed = word(&bytes, MAGIC.len()).unwrap_or(0);
        let room = bytes.len().saturating_sub(HEADER) / ENTRY;
        Cache {
            entries: usize::try_from(claimed).map_or(room, |claimed| claimed.min(room)),
            bytes,
        }
    }

    /// The files that a name may mean, of all kinds of machine.
    pub(crate) fn find<'c>(&'c self, name: &'c [u8]) -> impl Iterator<Item = PathBuf> + 'c {
        (0..self.entries).filter_map(move |index| {
            let entry = HEADER + index * ENTRY;
            if self.text(entry + 4)? != name {
                return None;
            }
            Some(PathBuf::from(OsStr::from_bytes(self.text(entry + 8)?)))
        })
    }

    /// The text whose place is written at `at`.
    fn text(&self, at: usize) -> Option<&[u8]> {
        let start = usize::try_from(word(&self.bytes, at)?).ok()?;
        self.bytes.get(start..)?.split(|byte| *byte == 0).next()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cache(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(entries.len()).unwrap().to_ne_bytes());
        bytes.resize(HEADER, 0);
        let mut strings = Vec::new();
        let base = HEADER + entries.len() * ENTRY;
        for (name, path) in entries {
            let at = |strings: &Vec<u8>| u32::try_from(base + strings.len()).unwrap().to_ne_bytes();
            bytes.extend([3, 3, 0, 0]);
            for text in [name, path] {
                bytes.extend(at(&strings));
                strings.extend(text.bytes().chain([0]));
            }
            bytes.extend([0; 12]);
        }
        bytes.extend(strings);
        bytes
    }

    fn find(bytes: Vec<u8>, name: &str) -> Vec<PathBuf> {
        Cache::new(bytes).find(name.as_bytes()).collect()
    }

    const ALL: [(&str, &str); 3] = [
        ("libz.so.1", "/lib/libz.so.1"),
        ("libc.so.6", "/lib32/libc.so.6"),
        ("libc.so.6", "/lib/libc.so.6"),
    ];

    #[test]
    fn a_name_may_mean_several_files() {
        let both = [
            PathBuf::from("/lib32/libc.so.6"),
            PathBuf::from("/lib/libc.so.6"),
        ];
        assert_eq!(find(cache(&ALL), "libc.so.6"), both);
        assert!(find(cache(&ALL), "libc.so").is_empty());
        let mut old = b"ld.so-1.7.0 and more".to_vec();
        old.extend(cache(&ALL));
        assert_eq!(find(old, "libc.so.6"), both);
        assert!(find(b"nothing of the kind".to_vec(), "libc.so.6").is_empty());
    }

    proptest! {
        #[test]
        fn a_damaged_cache_never_panics(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..10),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = cache(&ALL);
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            let _ = find(bytes, "libc.so.6");
        }
    }
}
