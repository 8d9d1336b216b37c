//! Replacing hugetlb memory by ordinary memory with the same contents, on the
//! same memory nodes: nobody sees it missing, and no write is lost.
#![expect(unsafe_code, reason = "copies and replaces memory by address")]

use core::ops::Range;

use crate::slices::SLICE;
use crate::sys::{self, Result};
use crate::unit::State;
use crate::window::Window;
use crate::{facts, freeze, place, space, thp};

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
    let aside = reserve(window, len)?;
    let mut begun = false;
    let copy = || {
        begun = true;
        // SAFETY: `aside` was reserved just now, and nobody writes meanwhile;
        // the new memory holds what the old one did.
        unsafe { fill_and_put(window, units, aside) }
    };
    let result = match window.prot & libc::PROT_WRITE {
        // Nobody writes, and whoever executes it must not be kept from it.
        0 => copy(),
        // SAFETY: mapped by us; the copy takes its place.
        _ => unsafe { freeze::frozen(addr, len, copy) },
    };
    if !begun {
        // SAFETY: still ours.
        let _ = unsafe { sys::munmap(aside, len) };
    }
    result
}

/// # Safety
/// As for [`fill`]; nobody may write to the units meanwhile.
unsafe fn fill_and_put(window: &Window, units: Range<usize>, aside: usize) -> Result<State> {
    let range = window.range_of(&units);
    // SAFETY: as the caller says.
    let filled = unsafe { fill(window, units, aside) };
    if filled.is_err() {
        // SAFETY: still ours.
        let _ = unsafe { sys::munmap(aside, range.len()) };
    }
    let state = filled?;
    // SAFETY: a copy.
    unsafe { put_over(range.start, range.len(), aside, window.layout.unit)? };
    Ok(state)
}

/// Address space for a copy of so much of a window.
///
/// # Errors
/// When there is none.
pub fn reserve(window: &Window, len: usize) -> Result<usize> {
    space::reserve(len, facts::thp_size().max(window.layout.unit))
}

/// Copies what is in use of a run of units to reserved address space, which
/// becomes ordinary memory of the same access; what it is then. A store that
/// happens meanwhile may be in the copy or not.
///
/// # Safety
/// The units must stay mapped and readable, and `aside` be ours and as long.
pub unsafe fn fill(window: &Window, units: Range<usize>, aside: usize) -> Result<State> {
    let len = units.len() * window.layout.unit;
    // SAFETY: `aside` is ours.
    unsafe { sys::mprotect(aside, len, READ_WRITE)? };
    // SAFETY: mapped by us.
    let state = unsafe { thp::advise(aside, len) };
    let addr = window.address(units.start);
    // SAFETY: as the caller says.
    unsafe { copy(window, units, aside) };
    // SAFETY: `aside` is ours.
    unsafe { place::settle(addr..addr + len, aside, window.layout.unit) };
    if window.prot != READ_WRITE {
        // SAFETY: `aside` is ours.
        unsafe { sys::mprotect(aside, len, window.prot)? };
    }
    Ok(state)
}

/// Copies what is in use of a run of units to writable memory at `aside`.
///
/// # Safety
/// The units must be readable, and `aside` writable and as long.
pub unsafe fn copy(window: &Window, units: Range<usize>, aside: usize) {
    let addr = window.address(units.start);
    let slices = window.slices_of(units);
    let mut from = slices.start;
    while let Some(run) = window.slices().first_run(from..slices.end) {
        let offset = (run.start - slices.start) * SLICE;
        // SAFETY: slices in use are readable; the two ranges are different
        // mappings of equal length.
        unsafe {
            place::copy(
                addr + offset,
                aside + offset,
                run.len() * SLICE,
                window.layout.unit,
            )
        };
        from = run.end;
    }
}

/// Moves a copy over what it is a copy of; frees what of it could not be moved.
/// Its policies change at multiples of `step` only.
///
/// # Safety
/// The copy must be ours, and hold what must be at `addr` from now on.
pub unsafe fn put_over(addr: usize, len: usize, aside: usize, step: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // The kernel moves one mapping at a time, and a policy makes it one.
    for part in place::parts(aside..aside + len, step) {
        let to = addr + (part.start - aside);
        // SAFETY: as the caller says.
        let moved = unsafe { sys::mremap(part.start, part.len(), part.len(), flags, to) };
        if moved.is_err() {
            // SAFETY: not moved, and ours.
            let _ = unsafe { sys::munmap(part.start, aside + len - part.start) };
        }
        moved?;
    }
    Ok(())
}
