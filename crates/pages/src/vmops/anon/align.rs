//! Aligns a new mapping to the huge page if that gains a huge page. Linux does so itself since 6.7,
//! later versions only for lengths of whole huge pages.
#![expect(unsafe_code, reason = "replaces mappings before returning them")]

use core::ffi::c_int;

use super::call::Call;
use crate::extent::{address_space, mlocked};
use crate::sys::{self, Result};

/// Flags of mappings that may get another address.
const ANYWHERE: c_int =
    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE;

/// Replaces a new mapping by an aligned one if the program gave no address; returns the final
/// address. If there is no room for an aligned one, `map_again` makes the mapping anew.
///
/// The new mapping is unmapped first, so that limits never count both. It isn't moved by `mremap`,
/// which would move the page table along: a huge page needs a place without one.
pub(super) fn aligned(
    call: &Call,
    at: usize,
    size: usize,
    map_again: impl FnOnce() -> Result<usize>,
) -> Result<usize> {
    let is_present = call.flags & libc::MAP_POPULATE != 0 && !call.wants_populate();
    let is_movable = call.addr == 0 && call.flags & !ANYWHERE == 0 && !is_present;
    // MCL_FUTURE has populated it.
    let may_gain = is_movable && gains(at, call.len, size) && !mlocked::locks_future();
    // SAFETY: mapped just now; no other code has the address.
    if !may_gain || unsafe { sys::munmap(at, call.len) }.is_err() {
        return Ok(at);
    }
    map_aligned(call, size).map_or_else(map_again, Ok)
}

fn map_aligned(call: &Call, size: usize) -> Option<usize> {
    let len = call.len.checked_next_multiple_of(sys::page_size())?;
    let hole = address_space::reserve_elsewhere(len, size).ok()?;
    let flags = call.flags & !libc::MAP_POPULATE | libc::MAP_FIXED;
    // SAFETY: reserved above; no other code has the address.
    let mapped = unsafe { sys::mmap(hole, len, call.prot, flags, -1, 0) };
    if mapped.is_err() {
        address_space::release(hole, len);
    }
    mapped.ok()
}

/// Whether an aligned mapping contains more huge pages.
fn gains(at: usize, len: usize, size: usize) -> bool {
    let inside = (at + len) / size - at.div_ceil(size).min((at + len) / size);
    len / size > inside
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_mapping_moves_only_to_gain_a_huge_page() {
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
}
