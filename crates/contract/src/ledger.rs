//! The ledger of messages: records which warnings were printed. The libraries share a small file
//! with an entry for each launch, one run of hugectl. Only the first process of a launch to issue a
//! kind of warning prints it; the others find the record.
//!
//! The file has a fixed size and lies in the user's hugectl directory. The first process with a
//! warning creates it. The key of a launch determines its entry; another launch with the same entry
//! overwrites it. A process that cannot open the file may repeat a warning or omit one.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// Number of entries.
const LAUNCHES: usize = 511;

/// Length of the file in bytes.
pub const LEN: usize = size_of::<Ledger>();

/// The first bytes of the file, without meaning. A writer first writes them with write(2): on a
/// full file system that returns an error, while a store to the mapping raises SIGBUS.
pub const PREFIX: [u8; 8] = [0; 8];

/// Bits of an entry for the kinds of messages; the others are the key.
const KIND_BITS: u32 = 24;

/// Bits of a key.
pub const KEY_BITS: u32 = u64::BITS - KIND_BITS;

/// A kind of message. Each launch prints at most one message of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The heap gets less from a pool than requested.
    Heap = 0,
    /// Shared memory gets fewer or other pages than requested.
    Shm = 1,
    /// Shared memory gets no transparent huge pages.
    SharedThp = 2,
    /// Files that processes share get no transparent huge pages.
    SharedFile = 3,
    /// A part of the text is not on huge pages.
    Text = 4,
    /// A part of data and bss is not on huge pages.
    Data = 5,
    /// The heap or a copy of a segment gets no transparent huge pages.
    Thp = 6,
    /// Large private mappings get no huge pages.
    Mappings = 7,
    /// Stacks get no transparent huge pages.
    Stacks = 8,
    /// Stacks are too small for a huge page.
    SmallStacks = 9,
    /// Memory was evacuated from a pool at a fork.
    Moved = 10,
    /// The heap avoids pools after forks.
    Forks = 11,
    /// Memory stays on pool pages across a fork.
    Left = 12,
    /// The program has its own allocator.
    Allocator = 13,
    /// Text, data or bss cannot be moved, however large the pools are.
    Segment = 14,
    /// Because of threads, private memory leaves the pools or gets none of their pages.
    Threads = 15,
    /// Shared memory is smaller than the requested page size.
    SmallShared = 16,
}

impl Kind {
    /// Returns the bit of this kind.
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The whole file.
#[derive(Debug)]
#[repr(C)]
pub struct Ledger {
    /// [`PREFIX`].
    prefix: AtomicU64,
    /// For each launch its key and the kinds that it has printed.
    launches: [AtomicU64; LAUNCHES],
}

impl Ledger {
    /// Records that the launch prints a message of this kind; returns whether it is the first.
    pub fn is_first(&self, place: &Place, kind: Kind) -> bool {
        let number = usize::try_from(place.key % LAUNCHES as u64).unwrap_or(0);
        let printed = |entry: u64| match entry >> KIND_BITS == place.key {
            true => entry & ((1 << KIND_BITS) - 1),
            false => place.printed,
        };
        let record = |entry| Some((place.key << KIND_BITS) | printed(entry) | kind.bit());
        let entry = &self.launches[number];
        match entry.fetch_update(Ordering::Relaxed, Ordering::Relaxed, record) {
            Ok(before) | Err(before) => printed(before) & kind.bit() == 0,
        }
    }
}

/// Locates the entry of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    key: u64,
    printed: u64,
    path: [u8; PATH_MAX],
}

/// Room in bytes for the path, including the terminating NUL. A longer path disables the ledger.
const PATH_MAX: usize = 128;

impl Place {
    /// `printed` are the kinds that hugectl has printed. Returns `None` if the path is not
    /// absolute, is too long or contains a NUL, or if a number is too large.
    pub fn new(key: u64, printed: u64, path: &[u8]) -> Option<Place> {
        let mut place = Place {
            key,
            printed,
            path: [0; PATH_MAX],
        };
        let is_name = path.first() == Some(&b'/') && path.len() < PATH_MAX;
        let fits = key < 1 << KEY_BITS && printed < 1 << KIND_BITS;
        if !fits || !is_name || path.contains(&0) {
            return None;
        }
        place.path[..path.len()].copy_from_slice(path);
        Some(place)
    }

    /// Reads `KEY:KINDS:FILE`.
    pub fn read(value: &[u8]) -> Option<Place> {
        let mut parts = value.splitn(3, |byte| *byte == b':');
        let mut number = || core::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (key, printed) = (number()?, number()?);
        Place::new(key, printed, parts.next()?)
    }

    /// The path of the ledger file.
    pub fn path(&self) -> &core::ffi::CStr {
        core::ffi::CStr::from_bytes_until_nul(&self.path).unwrap_or(c"")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().to_str().unwrap_or("");
        write!(f, "{}:{}:{path}", self.key, self.printed)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn the_first_process_of_a_launch_prints_the_message() {
        let ledger = Ledger {
            prefix: AtomicU64::new(0),
            launches: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        let launch = |key, printed| Place::new(key, printed, b"/ledger").unwrap();
        let (one, other) = (launch(7, Kind::Heap.bit()), launch(8, 0));
        assert!(!ledger.is_first(&one, Kind::Heap));
        assert!(ledger.is_first(&one, Kind::Shm));
        assert!(!ledger.is_first(&one, Kind::Shm));
        assert!(ledger.is_first(&other, Kind::Shm));
        assert!(ledger.is_first(&other, Kind::SmallShared));
        // Another key with the same entry overwrites it.
        assert!(ledger.is_first(&launch(7 + LAUNCHES as u64, 0), Kind::Shm));
        assert!(ledger.is_first(&one, Kind::Shm));
        assert!(!ledger.is_first(&other, Kind::Shm));
    }

    #[test]
    fn written_places_parse_back() {
        let place = Place::new(77, 5, b"/run/a:b").unwrap();
        assert_eq!(Place::read(format!("{place}").as_bytes()), Some(place));
        assert_eq!((place.printed, place.path()), (5, c"/run/a:b"));
        let long = [b'/'; PATH_MAX];
        assert_eq!(Place::new(1, 0, &long), None);
        assert_eq!(Place::new(1 << KEY_BITS, 0, b"/a"), None);
        for wrong in ["", "7", "7:", "7:/a", "7:0:a", "7::/a", "x:0:/a"] {
            assert_eq!(Place::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
