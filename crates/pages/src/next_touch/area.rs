//! Mappings of ours for memory set aside, divided into pieces.
#![expect(unsafe_code, reason = "maps memory")]

use core::ffi::c_int;
use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Result};

/// Pieces of an area: each that was moved may be a VMA of its own, and a process may have 65530.
const MOST_PIECES: usize = 8192;

/// State of a piece: not looked at yet.
pub(super) const NEW: u8 = 0;
/// It is aside, at least in part.
pub(super) const WAITING: u8 = 1;
/// It is where it belongs, or is left there.
pub(super) const SETTLED: u8 = 2;

/// A mapping of ours for memory set aside.
#[derive(Debug)]
pub(super) struct Area {
    /// Its addresses, the same modulo a huge page as those of the memory.
    pub(super) aside: Range<usize>,
    /// Its mapping, including the room before and behind.
    mapping: Range<usize>,
    /// Length of a piece.
    piece: usize,
    /// Index of the first piece: its address by the length.
    first: usize,
    /// The states of the pieces.
    pub(super) states: &'static mut [u8],
}

impl Area {
    pub(super) fn map(home: &Range<usize>, prot: c_int) -> Result<Area> {
        let huge = facts::thp_size();
        let piece = (home.len() / MOST_PIECES).next_multiple_of(huge).max(huge);
        let most = home.len() / piece + 2;
        let len = home.len() + 2 * huge;
        let states = map(most, libc::PROT_READ | libc::PROT_WRITE)?;
        // After `mlockall` only inaccessible memory isn't populated.
        let at = map(len, libc::PROT_NONE).inspect_err(|_| unmap(states, most))?;
        let _ = sys::munlock(at, len);
        let start = at.next_multiple_of(huge) + home.start % huge;
        // SAFETY: mapped above for these pieces, all zero.
        let states = unsafe { core::slice::from_raw_parts_mut(states as *mut u8, most) };
        let area = Area {
            aside: start..start + home.len(),
            mapping: at..at + len,
            piece,
            first: start / piece,
            states,
        };
        // SAFETY: mapped above.
        match unsafe { sys::mprotect(start, home.len(), prot) } {
            Ok(()) => Ok(area),
            Err(error) => {
                area.unmap();
                Err(error)
            }
        }
    }

    pub(super) fn unmap(self) {
        unmap(self.mapping.start, self.mapping.len());
        unmap(self.states.as_mut_ptr() as usize, self.states.len());
    }

    /// The pieces.
    pub(super) fn pieces(&self) -> core::ops::RangeInclusive<usize> {
        0..=(self.aside.end - 1) / self.piece - self.first
    }

    /// The index of the piece of an address.
    pub(super) fn index(&self, aside: usize) -> usize {
        aside / self.piece - self.first
    }

    /// The addresses of a piece.
    pub(super) fn piece(&self, index: usize) -> Range<usize> {
        let start = (self.first + index) * self.piece;
        start.max(self.aside.start)..(start + self.piece).min(self.aside.end)
    }
}

/// Maps memory of ours.
pub(super) fn map(len: usize, prot: c_int) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }
}

/// Unmaps memory of ours.
pub(super) fn unmap(at: usize, len: usize) {
    // SAFETY: a mapping of ours.
    let _ = unsafe { sys::munmap(at, len) };
}
