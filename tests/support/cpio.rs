//! Writes an initramfs: a cpio archive in newc format.

use std::collections::BTreeSet;
use std::path::Path;

/// An archive under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Adds a file and its parent directories.
    pub(crate) fn file(&mut self, path: &str, mode: u32, contents: &[u8]) {
        let parents: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        for directory in parents.iter().rev().filter_map(|path| path.to_str()) {
            if directory != "/" && self.directories.insert(directory.to_owned()) {
                self.entry(directory, 0o040_755, &[]);
            }
        }
        self.entry(path, 0o100_000 | mode, contents);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("/TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        let name = path.trim_start_matches('/');
        let length = u32::try_from(contents.len()).unwrap();
        let name_size = u32::try_from(name.len() + 1).unwrap();
        // Inode, mode, uid, gid, links, mtime, size, four device numbers, name size, checksum.
        let fields = [0, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
