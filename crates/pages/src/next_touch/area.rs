//! Mappings of ours for parked memory, divided into pieces.
#![expect(unsafe_code, reason = "maps memory")]

use core::ffi::c_int;
use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Result};

/// Maximum number of pieces: each may become a VMA of its own, and a process may have 65530.
const MOST_PIECES: usize = 8192;

/// State of a piece: not parked yet.
pub(super) const NEW: u8 = 0;
/// Parked, at least in part, until a thread touches it.
pub(super) const WAITING: u8 = 1;
/// It is back, or was never parked.
pub(super) const SETTLED: u8 = 2;

#[derive(Debug)]
pub(super) struct Area {
    /// The parking addresses, at the same offset in a huge page as the origin.
    pub(super) parked: Range<usize>,
    /// The whole mapping: `parked`, and unused memory before and behind it.
    mapping: Range<usize>,
    /// Bytes of a piece.
    piece: usize,
    /// Address of the first piece divided by `piece`.
    first: usize,
    pub(super) states: &'static mut [u8],
}

impl Area {
    pub(super) fn map(origin: &Range<usize>, prot: c_int) -> Result<Area> {
        let huge = facts::thp_size();
        let piece = (origin.len() / MOST_PIECES)
            .next_multiple_of(huge)
            .max(huge);
        let most = origin.len() / piece + 2;
        let len = origin.len() + 2 * huge;
        let states = map(most, libc::PROT_READ | libc::PROT_WRITE)?;
        // Inaccessible: after `mlockall` the kernel would populate it.
        let at = map(len, libc::PROT_NONE).inspect_err(|_| unmap(states, most))?;
        let _ = sys::munlock(at, len);
        let start = at.next_multiple_of(huge) + origin.start % huge;
        // SAFETY: mapped above for these pieces, all zero.
        let states = unsafe { core::slice::from_raw_parts_mut(states as *mut u8, most) };
        let area = Area {
            parked: start..start + origin.len(),
            mapping: at..at + len,
            piece,
            first: start / piece,
            states,
        };
        // SAFETY: mapped above.
        match unsafe { sys::mprotect(start, origin.len(), prot) } {
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

    /// The indices of all pieces.
    pub(super) fn pieces(&self) -> core::ops::RangeInclusive<usize> {
        0..=(self.parked.end - 1) / self.piece - self.first
    }

    /// The index of the piece at an address.
    pub(super) fn index(&self, parked: usize) -> usize {
        parked / self.piece - self.first
    }

    pub(super) fn piece(&self, index: usize) -> Range<usize> {
        let start = (self.first + index) * self.piece;
        start.max(self.parked.start)..(start + self.piece).min(self.parked.end)
    }
}

pub(super) fn map(len: usize, prot: c_int) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }
}

pub(super) fn unmap(at: usize, len: usize) {
    // SAFETY: a mapping of ours.
    let _ = unsafe { sys::munmap(at, len) };
}
