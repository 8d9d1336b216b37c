//! Looking how much of a mapping is on huge pages of the page cache.

use crate::file;
use crate::sys::File;
use hugetools_contract::smaps::records;

/// Longer lines, those of mappings with very long names, are passed over.
const ROOM: usize = 4096;

/// Bytes of the mapping that begins at `start` that are mapped by huge pages
/// of its file. `None` where there is no such mapping, or it cannot be told.
/// Reads no further than that mapping, since the kernel counts as it goes.
pub fn file_huge_bytes(start: usize) -> Option<u64> {
    let file = File::open(c"/proc/self/smaps", libc::O_RDONLY).ok()?;
    let mut buffer = [0; ROOM];
    let mut filled = 0;
    let mut search = Search {
        start: start as u64,
        is_here: false,
    };
    loop {
        let read = file.read(&mut buffer[filled..]).ok().filter(|n| *n > 0)?;
        filled += read;
        let mut done = 0;
        while let Some(len) = buffer[done..filled].iter().position(|byte| *byte == b'\n') {
            if let Some(bytes) = search.line(&buffer[done..done + len]) {
                return Some(bytes);
            }
            done += len + 1;
        }
        if done == 0 && filled == ROOM {
            done = filled;
        }
        buffer.copy_within(done..filled, 0);
        filled -= done;
    }
}

struct Search {
    start: u64,
    /// Whether the lines are about the mapping.
    is_here: bool,
}

impl Search {
    fn line(&mut self, line: &[u8]) -> Option<u64> {
        if let Some(bytes) = file::tagged(line, b"FilePmdMapped:").filter(|_| self.is_here) {
            return Some(bytes.saturating_mul(1024));
        }
        if let Some(record) = records(line).next() {
            self.is_here = record.start == self.start;
        }
        None
    }
}
