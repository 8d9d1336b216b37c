//! Replaces hugetlb pages by ordinary memory (THP or base pages) at the same address.
#![expect(unsafe_code, reason = "replaces memory by address")]

use core::ops::Range;

use crate::extent::Extent;
use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::kernel::facts;
use crate::migrate::shield::Shield;
use crate::migrate::staging::Staging;
use crate::policy::fresh_copy;
use crate::sys::Result;

/// Replaces units by a copy in ordinary memory while `shield` stops writers; returns the new state.
///
/// # Errors
/// If memory, address space or VMAs run out, writers can't be stopped, or a security policy forbids
/// the protection. Unless the final `mremap` failed, nothing has changed.
///
/// # Safety
/// The units must be whole hugetlb pages that the caller has claimed, and the shield must stop all
/// other writers.
pub unsafe fn replace(extent: &Extent, units: Range<usize>, shield: &Shield) -> Result<State> {
    let range = extent.range_of(&units);
    let align = facts::thp_size().max(extent.layout.unit);
    // Not populated: the memory policy at its first touch chooses the node of an untouched page.
    let (copy, state) = Staging::ordinary(range.len(), align)?;
    let start = range.start;
    let change = move || {
        for_each_run(extent, units, |offset, len| {
            // SAFETY: slices in use are readable; the copy is another mapping of that length.
            unsafe { fresh_copy::copy(start + offset, copy.addr + offset, len) };
        });
        if extent.prot != libc::PROT_READ | libc::PROT_WRITE {
            copy.protect(extent.prot)?;
        }
        // SAFETY: the copy has the same contents, and writers are stopped.
        unsafe { copy.replace(start) }
    };
    match extent.prot & libc::PROT_WRITE {
        // Read-only memory, such as text, has no writers.
        0 => change()?,
        // SAFETY: the range is ours, readable and writable.
        _ => unsafe { shield.stop_writers(&range, change)? },
    }
    Ok(state)
}

/// Calls `each` with offset and length of each run of slices in use.
fn for_each_run(extent: &Extent, units: Range<usize>, mut each: impl FnMut(usize, usize)) {
    let slices = extent.slices_of(units);
    let mut from = slices.start;
    while let Some(run) = extent.slices().first_run(from..slices.end) {
        each((run.start - slices.start) * SLICE, run.len() * SLICE);
        from = run.end;
    }
}
