//! Replacing hugetlb memory by ordinary memory with the same contents: nobody
//! sees it missing, and no write is lost.
#![expect(unsafe_code, reason = "copies and replaces memory by address")]

use core::ops::Range;

use crate::slices::SLICE;
use crate::sys::{self, Result};
use crate::unit::State;
use crate::window::Window;
use crate::{facts, freeze, space, thp};

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Replaces a run of units by ordinary memory; what it is then. Nothing has
/// changed after an error.
///
/// # Safety
/// The units must be whole hugetlb pages, claimed by the caller.
pub unsafe fn replace(window: &Window, units: Range<usize>) -> Result<State> {
    let (addr, len) = (
        window.address(units.start),
        units.len() * window.layout.unit,
    );
    let aside = space::reserve(len, facts::thp_size().max(window.layout.unit))?;
    let copy = || {
        // SAFETY: `aside` was reserved just now, and nobody writes meanwhile.
        unsafe { fill_and_move(window, units, aside, addr, len) }
    };
    let result = match window.prot & libc::PROT_WRITE {
        // Nobody writes, and whoever executes it must not be kept from it.
        0 => copy(),
        // SAFETY: mapped by us; the copy takes its place.
        _ => unsafe { freeze::frozen(addr, len, copy) },
    };
    if result.is_err() {
        // SAFETY: still ours: it was not moved.
        let _ = unsafe { sys::munmap(aside, len) };
    }
    result
}

/// # Safety
/// As for [`replace`]; nobody may write to the units meanwhile, and `aside`
/// must be `len` bytes of ours.
unsafe fn fill_and_move(
    window: &Window,
    units: Range<usize>,
    aside: usize,
    addr: usize,
    len: usize,
) -> Result<State> {
    // SAFETY: `aside` is ours.
    unsafe { sys::mprotect(aside, len, READ_WRITE)? };
    // SAFETY: mapped by us.
    let state = unsafe { thp::advise(aside, len) };
    let slices = window.slices_of(units);
    let mut from = slices.start;
    while let Some(run) = window.slices().first_run(from..slices.end) {
        let offset = (run.start - slices.start) * SLICE;
        // SAFETY: slices in use are readable, and nobody writes to them; the
        // two ranges are different mappings of equal length.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (addr + offset) as *const u8,
                (aside + offset) as *mut u8,
                run.len() * SLICE,
            );
        }
        from = run.end;
    }
    if window.prot != READ_WRITE {
        // SAFETY: `aside` is ours.
        unsafe { sys::mprotect(aside, len, window.prot)? };
    }
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the new memory holds what the old one did.
    unsafe { sys::mremap(aside, len, len, flags, addr)? };
    Ok(state)
}
