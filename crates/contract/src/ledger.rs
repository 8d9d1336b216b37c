//! The ledger of messages: records which warnings a launch has printed. hugectl and the libraries
//! share a small file with an entry for each launch. The first process of a launch with a warning
//! of some kind prints it; the others find the record and stay silent.
//!
//! The file has a fixed size and lies in the user's hugectl directory. A new launch overwrites the
//! oldest entry. A process that cannot open the file prints all its warnings.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// Number of entries; the next launch overwrites the oldest.
pub const LAUNCHES: usize = 255;

/// Length of the file in bytes.
pub const LEN: usize = size_of::<Ledger>();

/// The first bytes of the file, without meaning. A writer first writes them with write(2): on a
/// full file system that returns an error, while a store to the mapping raises SIGBUS.
pub const PREFIX: [u8; 8] = [0; 8];

/// A kind of message. Each launch prints one message of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The heap gets less from a pool than requested.
    Heap = 0,
    /// Shared memory gets less from a pool than requested, or other pages.
    Shm = 1,
    /// Shared memory gets no transparent huge pages.
    SharedThp = 2,
    /// Files that processes share get no transparent huge pages.
    SharedFile = 3,
    /// A part of the text is not on huge pages.
    Text = 4,
    /// A part of data and bss is not on huge pages.
    Data = 5,
    /// The heap gets no transparent huge pages.
    Thp = 6,
    /// Large private mappings get no transparent huge pages.
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
    Unmoved = 14,
    /// Private memory was evacuated from the pools before the first thread.
    Threads = 15,
    /// A request for shared memory is smaller than one page.
    SmallShared = 16,
}

impl Kind {
    /// Returns the bit of this kind.
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The entry of a launch. Key 0 is an unused entry.
#[derive(Debug)]
#[repr(C)]
struct Launch {
    key: AtomicU64,
    kinds: AtomicU64,
}

/// The whole file.
#[derive(Debug)]
#[repr(C)]
pub struct Ledger {
    /// [`PREFIX`].
    prefix: AtomicU64,
    /// Number of launches entered so far.
    entered: AtomicU64,
    launches: [Launch; LAUNCHES],
}

impl Ledger {
    /// Enters a launch that has printed messages of the kinds `printed` already.
    pub fn enter(&self, key: u64, printed: u64) {
        let number = self.entered.fetch_add(1, Ordering::Relaxed);
        let at = usize::try_from(number % LAUNCHES as u64).unwrap_or(0);
        if let Some(launch) = self.launches.get(at) {
            launch.key.store(0, Ordering::Release);
            launch.kinds.store(printed, Ordering::Release);
            launch.key.store(key, Ordering::Release);
        }
    }

    /// Records that the launch prints a message of this kind. Returns true if it is the
    /// first one, `None` if the entry was overwritten.
    pub fn is_first(&self, key: u64, kind: Kind) -> Option<bool> {
        let mut launches = self.launches.iter();
        let launch = launches.find(|launch| launch.key.load(Ordering::Acquire) == key)?;
        let before = launch.kinds.fetch_or(kind.bit(), Ordering::AcqRel);
        Some(before & kind.bit() == 0)
    }
}

/// Locates the entry of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    key: u64,
    path: [u8; PATH_MAX],
}

/// Room in bytes for the path, including the terminating NUL. A longer path disables the ledger.
const PATH_MAX: usize = 128;

impl Place {
    /// Returns `None` if the path is too long or not absolute, or the key is 0.
    pub fn new(key: u64, path: &[u8]) -> Option<Place> {
        let mut place = Place {
            key,
            path: [0; PATH_MAX],
        };
        let is_name = path.first() == Some(&b'/') && path.len() < PATH_MAX;
        if key == 0 || !is_name || path.contains(&0) {
            return None;
        }
        place.path[..path.len()].copy_from_slice(path);
        Some(place)
    }

    /// Reads `KEY:FILE`.
    pub fn read(value: &[u8]) -> Option<Place> {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let (key, path) = (value.get(..colon)?, value.get(colon + 1..)?);
        let key = core::str::from_utf8(key).ok()?.parse().ok()?;
        Place::new(key, path)
    }

    /// The key of the launch.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The path of the ledger file.
    pub fn path(&self) -> &core::ffi::CStr {
        core::ffi::CStr::from_bytes_until_nul(&self.path).unwrap_or(c"")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.path().to_str().unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    fn ledger() -> Ledger {
        let empty = || AtomicU64::new(0);
        Ledger {
            prefix: empty(),
            entered: empty(),
            launches: core::array::from_fn(|_| Launch {
                key: empty(),
                kinds: empty(),
            }),
        }
    }

    #[test]
    fn the_first_process_of_a_launch_prints_the_message() {
        let ledger = ledger();
        ledger.enter(7, Kind::Heap.bit());
        ledger.enter(8, 0);
        assert_eq!(ledger.is_first(7, Kind::Heap), Some(false));
        assert_eq!(ledger.is_first(7, Kind::Shm), Some(true));
        assert_eq!(ledger.is_first(7, Kind::Shm), Some(false));
        assert_eq!(ledger.is_first(8, Kind::Shm), Some(true));
        assert_eq!(ledger.is_first(9, Kind::Shm), None);
        for key in 10..10 + LAUNCHES as u64 - 1 {
            ledger.enter(key, 0);
        }
        assert_eq!(ledger.is_first(7, Kind::Shm), None);
        assert_eq!(ledger.is_first(8, Kind::Shm), Some(false));
    }

    #[test]
    fn written_places_parse_back() {
        let place = Place::new(77, b"/run/a:b").unwrap();
        assert_eq!(Place::read(format!("{place}").as_bytes()), Some(place));
        assert_eq!((place.key(), place.path()), (77, c"/run/a:b"));
        let long = [b'/'; PATH_MAX];
        assert_eq!(Place::new(1, &long), None);
        for wrong in ["", "7", "7:", "7:a", "0:/a", "x:/a"] {
            assert_eq!(Place::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
