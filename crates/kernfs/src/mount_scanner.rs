//! Finds hugetlbfs in mount tables such as `/proc/mounts`, byte by byte, and decodes escapes.
//! Lines have no maximum length: a container's overlay may name a hundred directories.

use core::ffi::CStr;

use crate::escape::Decoder;

/// Maximum length of a path in bytes, including the terminating NUL.
pub const PATH_MAX: usize = 4096;

/// The file system type to find.
const HUGETLBFS: &[u8] = b"hugetlbfs";

/// The state within the current line.
#[derive(Debug)]
pub struct Scanner {
    /// Index of the current field: 0 source, 1 mount point, 2 type, then others.
    field: u8,
    point: Text<PATH_MAX>,
    kind: Text<16>,
    decoder: Decoder,
}

impl Scanner {
    /// Returns a scanner at the beginning of a table.
    pub const fn new() -> Scanner {
        Scanner {
            field: 0,
            point: Text::new(),
            kind: Text::new(),
            decoder: Decoder::new(),
        }
    }

    /// Consumes the next byte. Returns true at the end of a hugetlbfs line; [`Scanner::point`]
    /// then returns its mount point. Skips a line whose mount point exceeds [`PATH_MAX`].
    pub fn take(&mut self, byte: u8) -> bool {
        if self.field > 2 && byte != b'\n' {
            // Skip the options, which may be long.
            return false;
        }
        match byte {
            b'\n' => {
                self.end_word();
                let found = self.field >= 2 && self.kind.is(HUGETLBFS) && self.point.is_whole();
                self.field = 0;
                return found;
            }
            b' ' | b'\t' => {
                self.end_word();
                self.field += 1;
                match self.field {
                    1 => self.point.clear(),
                    2 => self.kind.clear(),
                    _ => {}
                }
            }
            _ => match self.field {
                1 => {
                    let point = &mut self.point;
                    self.decoder.take(byte, &mut |byte| point.push(byte));
                }
                2 => self.kind.push(byte),
                _ => {}
            },
        }
        false
    }

    /// Returns the mount point of the hugetlbfs whose line has just ended.
    pub fn point(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.point.bytes).unwrap_or(c"")
    }

    /// Emits an incomplete escape as it is.
    fn end_word(&mut self) {
        let point = &mut self.point;
        self.decoder.end(&mut |byte| point.push(byte));
    }
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner::new()
    }
}

/// Bytes with a terminating NUL. `len` also counts bytes that didn't fit into the buffer.
#[derive(Debug)]
struct Text<const ROOM: usize> {
    bytes: [u8; ROOM],
    len: usize,
}

impl<const ROOM: usize> Text<ROOM> {
    const fn new() -> Text<ROOM> {
        Text {
            bytes: [0; ROOM],
            len: 0,
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        self.bytes[0] = 0;
    }

    fn push(&mut self, byte: u8) {
        if self.len + 1 < ROOM {
            self.bytes[self.len] = byte;
            self.bytes[self.len + 1] = 0;
        }
        self.len += 1;
    }

    fn is_whole(&self) -> bool {
        self.len < ROOM
    }

    fn is(&self, other: &[u8]) -> bool {
        self.bytes.get(..self.len) == Some(other)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn points(table: &[u8]) -> Vec<String> {
        let mut scanner = Scanner::new();
        let mut found = Vec::new();
        for byte in table {
            if scanner.take(*byte) {
                found.push(scanner.point().to_str().unwrap().into());
            }
        }
        found
    }

    #[test]
    fn only_hugetlbfs_counts() {
        let table = b"proc /proc proc rw 0 0\n\
            none /mnt/a hugetlbfs rw,pagesize=2M 0 0\n\
            /dev/sda1 /mnt/hugetlbfs ext4 rw 0 0\n\
            hugetlbfs /mnt/c hugetlbfs2 rw 0 0\n\
            / /mnt/b hugetlbfs\n\
            cut /mnt/d hugetlbfs rw";
        assert_eq!(points(table), ["/mnt/a", "/mnt/b"]);
    }

    #[test]
    fn sources_with_slashes_and_escapes_are_parsed() {
        let table = b"a/b /mnt/with\\040blank\\011and\\134 hugetlbfs rw 0 0\n\
            x /mnt/odd\\04\\0401\\9 hugetlbfs rw 0 0\n";
        assert_eq!(
            points(table),
            ["/mnt/with blank\tand\\", "/mnt/odd\\04 1\\9"]
        );
    }

    #[test]
    fn long_lines_are_parsed() {
        let long = "x".repeat(1 << 16);
        let table = format!("none /mnt/a overlay {long}\nnone /mnt/b hugetlbfs {long}\n");
        assert_eq!(points(table.as_bytes()), ["/mnt/b"]);
        let table = format!("none /{long} hugetlbfs rw\n{long} /mnt/b hugetlbfs rw\n");
        assert_eq!(points(table.as_bytes()), ["/mnt/b"]);
        let just = format!("/{}", "x".repeat(PATH_MAX - 2));
        assert_eq!(
            points(format!("none {just} hugetlbfs rw\n").as_bytes()),
            [just]
        );
    }

    proptest! {
        #[test]
        fn escaped_paths_are_decoded(path in prop::collection::vec(1u8.., 1..60)) {
            let mut line = b"none ".to_vec();
            for byte in &path {
                line.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            line.extend_from_slice(b" hugetlbfs rw\n");
            let mut scanner = Scanner::new();
            let found = line.iter().filter(|byte| scanner.take(**byte)).count();
            prop_assert_eq!(found, 1);
            prop_assert_eq!(scanner.point().to_bytes(), path);
        }
    }
}
