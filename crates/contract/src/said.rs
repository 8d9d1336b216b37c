//! What the processes of one start have said: hugectl and the libraries share a small
//! file, in which each start has a place. Of one kind of line the first process says it,
//! and all others know that it was said.
//!
//! The file is as long for ever, in the directory that hugectl has for its user anyway; a
//! start takes the place of the one that was entered longest ago. Who cannot open it says
//! what it has to say.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// So many starts are kept in mind.
pub const STARTS: usize = 255;

/// The bytes of the file.
pub const LEN: usize = size_of::<Ledger>();

/// What the file begins with, which means nothing: who is about to write to a mapping of it
/// writes this first, since what a full file system answers to that is an error, and to the
/// mapping a signal.
pub const BEGINNING: [u8; 8] = [0; 8];

/// A kind of line, of which a start says one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// What the heap does not get from a pool.
    Heap = 0,
    /// What shared memory does not get from a pool, or otherwise as asked for.
    Shm = 1,
    /// That shared memory gets no transparent huge pages.
    SharedThp = 2,
    /// The same of files that processes share.
    SharedFile = 3,
    /// What of the text is not on huge pages.
    Text = 4,
    /// The same of data and bss.
    Data = 5,
    /// That transparent huge pages do not come, for the heap.
    Thp = 6,
    /// The same for large private mappings.
    Mappings = 7,
    /// The same for stacks.
    Stacks = 8,
    /// That stacks are too small.
    SmallStacks = 9,
    /// What has left a pool at a fork.
    Moved = 10,
    /// That the heap stays off pools after forks.
    Forks = 11,
    /// What stays on pages of a pool at a fork.
    Left = 12,
    /// That a program has an allocator of its own.
    Allocator = 13,
    /// That a program gains rights by its file.
    Gains = 14,
    /// What keeps text, data or bss where they are, whatever pools have.
    Unmoved = 15,
    /// That a request for shared memory is smaller than one page.
    SmallShared = 16,
}

impl Kind {
    /// As one bit.
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The place of a start: none in an ordinary environment.
#[derive(Debug)]
#[repr(C)]
struct Start {
    key: AtomicU64,
    kinds: AtomicU64,
}

/// All of the file.
#[derive(Debug)]
#[repr(C)]
pub struct Ledger {
    /// [`BEGINNING`].
    beginning: AtomicU64,
    /// How many starts were entered so far.
    entered: AtomicU64,
    starts: [Start; STARTS],
}

impl Ledger {
    /// Enters a start that has said these kinds already.
    pub fn enter(&self, key: u64, said: u64) {
        let number = self.entered.fetch_add(1, Ordering::Relaxed);
        let at = usize::try_from(number % STARTS as u64).unwrap_or(0);
        if let Some(start) = self.starts.get(at) {
            start.key.store(0, Ordering::Release);
            start.kinds.store(said, Ordering::Release);
            start.key.store(key, Ordering::Release);
        }
    }

    /// Whether nobody of a start has said this so far; from now on somebody has. `None` of
    /// a start that is not in it any more.
    pub fn is_first(&self, key: u64, kind: Kind) -> Option<bool> {
        let mut starts = self.starts.iter();
        let start = starts.find(|start| start.key.load(Ordering::Acquire) == key)?;
        let before = start.kinds.fetch_or(kind.bit(), Ordering::AcqRel);
        Some(before & kind.bit() == 0)
    }
}

/// By what a process finds the place of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    key: u64,
    path: [u8; PATH_ROOM],
}

/// The room for the name of the file, with the zero byte at its end.
const PATH_ROOM: usize = 128;

impl Place {
    /// The place of a start in this file; `None` where its name is too long.
    pub fn new(key: u64, path: &[u8]) -> Option<Place> {
        let mut place = Place {
            key,
            path: [0; PATH_ROOM],
        };
        let is_name = path.first() == Some(&b'/') && path.len() < PATH_ROOM;
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

    /// The start.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The file.
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
            beginning: empty(),
            entered: empty(),
            starts: core::array::from_fn(|_| Start {
                key: empty(),
                kinds: empty(),
            }),
        }
    }

    #[test]
    fn one_of_a_start_says_it() {
        let ledger = ledger();
        ledger.enter(7, Kind::Heap.bit());
        ledger.enter(8, 0);
        assert_eq!(ledger.is_first(7, Kind::Heap), Some(false));
        assert_eq!(ledger.is_first(7, Kind::Shm), Some(true));
        assert_eq!(ledger.is_first(7, Kind::Shm), Some(false));
        assert_eq!(ledger.is_first(8, Kind::Shm), Some(true));
        assert_eq!(ledger.is_first(9, Kind::Shm), None);
        for key in 10..10 + STARTS as u64 - 1 {
            ledger.enter(key, 0);
        }
        assert_eq!(ledger.is_first(7, Kind::Shm), None);
        assert_eq!(ledger.is_first(8, Kind::Shm), Some(false));
    }

    #[test]
    fn what_is_displayed_is_read_back() {
        let place = Place::new(77, b"/run/a:b").unwrap();
        assert_eq!(Place::read(format!("{place}").as_bytes()), Some(place));
        assert_eq!((place.key(), place.path()), (77, c"/run/a:b"));
        let long = [b'/'; PATH_ROOM];
        assert_eq!(Place::new(1, &long), None);
        for wrong in ["", "7", "7:", "7:a", "0:/a", "x:/a"] {
            assert_eq!(Place::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
