//! The place of a mapping that may be anywhere: at a multiple of the huge page, where that
//! gives it one more of them. Since Linux 6.7 the kernel does so by itself, for lengths of
//! whole huge pages.
#![expect(unsafe_code, reason = "moves a mapping that nobody knows yet")]

use core::ffi::c_int;

use super::call::Call;
use crate::extent::address_space;
use crate::sys::{self, SpaceLimit};

/// What says nothing of the place, and fills nothing at once.
const ANYWHERE: c_int =
    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE;

/// Moves a new mapping, where that is of use and the program has named no place; where it
/// is then. `size` is that of a huge page.
pub(super) fn aligned(call: &Call, at: usize, size: usize) -> usize {
    let is_free = call.addr == 0 && call.flags & !ANYWHERE == 0;
    if !is_free || !gains(at, call.len, size) || is_space_limited() {
        return at;
    }
    let Some(len) = call.len.checked_next_multiple_of(sys::page_size()) else {
        return at;
    };
    moved_to_hole(at, len, len, size).unwrap_or(at)
}

/// Whether a mapping holds more huge pages where its beginning is aligned.
fn gains(at: usize, len: usize, size: usize) -> bool {
    let inside = (at + len) / size - at.div_ceil(size).min((at + len) / size);
    len / size > inside
}

/// Whether address space is scarce: then no more of it is taken for a moment, which
/// another thread might need.
pub(super) fn is_space_limited() -> bool {
    matches!(sys::address_space_limit(), SpaceLimit::Bytes(_))
}

/// Moves a mapping to where nothing is, aligned; it may grow. Where it is then, if it
/// could be moved.
pub(super) fn moved_to_hole(at: usize, len: usize, new_len: usize, size: usize) -> Option<usize> {
    let hole = address_space::reserve_elsewhere(new_len, size).ok()?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the mapping is the caller's to move, the place was reserved just now.
    match unsafe { sys::mremap(at, len, new_len, flags, hole) } {
        Ok(at) => Some(at),
        Err(_) => {
            address_space::release(hole, new_len);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_place_is_changed_for_one_more_page() {
        let size = 2 * MIB;
        for (at, len, gain) in [
            (100 * MIB, 64 * MIB, false),
            (101 * MIB, 64 * MIB, true),
            (101 * MIB, 3 * MIB, false),
            (100 * MIB + 4096, 3 * MIB, true),
            (101 * MIB, 2 * MIB, true),
            (100 * MIB + 4096, MIB, false),
            (100 * MIB + 4096, 64 * MIB + 4096, true),
        ] {
            assert_eq!(gains(at, len, size), gain, "{at:#x} {len:#x}");
        }
    }

    #[test]
    fn what_is_moved_is_what_it_was() {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, ANYWHERE);
        let size = 2 * MIB;
        // SAFETY: a new mapping.
        let at = unsafe { sys::mmap(0, 5 * MIB, prot, flags, -1, 0).unwrap() };
        let odd = at.next_multiple_of(size) + sys::page_size();
        let call = Call {
            addr: 0,
            len: 3 * MIB,
            prot,
            flags,
        };
        let now = aligned(&call, odd, size);
        assert!(now % size == 0 && now != odd);
        let named = Call { addr: odd, ..call };
        assert_eq!(
            aligned(&named, now + sys::page_size(), size),
            now + sys::page_size()
        );
        // SAFETY: memory of the test.
        unsafe { ((now + 3 * MIB - 1) as *mut u8).write(7) };
    }
}
