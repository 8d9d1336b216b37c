//! Replacing hugetlb memory by ordinary memory with the same contents, on the
//! same memory nodes: nobody sees it missing, and no write is lost.
#![expect(unsafe_code, reason = "copies and replaces memory by address")]

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, address_space};
use crate::kernel::{facts, nodes, populate};
use crate::migrate::shield::Shield;
use crate::policy::{fresh_copy, thp};
use crate::sys::{self, Result};

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Replaces a run of units by ordinary memory, while `shield` keeps others from
/// writing; what it is then. Nothing has changed after an error.
///
/// # Errors
/// When there is no memory or address space for it, no mapping left, or nobody can be
/// kept from writing.
///
/// # Safety
/// The units must be whole hugetlb pages, claimed by the caller, and the shield
/// one that is strong enough.
pub unsafe fn replace(extent: &Extent, units: Range<usize>, shield: &Shield) -> Result<State> {
    let range = extent.range_of(&units);
    let copy = Copy::reserve(extent, range.len())?;
    let state = copy.begin(extent, &units, shield.is_needed())?;
    let start = range.start;
    let change = move || {
        // SAFETY: the copy is ours, and nobody writes meanwhile; the new memory
        // holds what the old one did.
        unsafe { copy.fill(extent, units) }?;
        // SAFETY: likewise.
        unsafe { copy.put_over(start) }
    };
    match extent.prot & libc::PROT_WRITE {
        // Nobody writes, and whoever executes it must not be kept from it.
        0 => change()?,
        // SAFETY: mapped by us; the copy takes its place.
        _ => unsafe { shield.hold(&range, change)? },
    }
    Ok(state)
}

/// Address space for a copy, and then the copy. What of it is not put anywhere
/// goes with the value.
#[derive(Debug)]
pub struct Copy(Range<usize>);

impl Copy {
    /// Address space for a copy of so much of an extent.
    ///
    /// # Errors
    /// When there is none.
    pub fn reserve(extent: &Extent, len: usize) -> Result<Copy> {
        let align = facts::thp_size().max(extent.layout.unit);
        let at = address_space::reserve(len, align)?;
        Ok(Copy(at..at + len))
    }

    /// Makes it ordinary memory that can be written; what it is. Where others
    /// will have to wait, the pages are there before that begins.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn begin(&self, extent: &Extent, units: &Range<usize>, ahead: bool) -> Result<State> {
        let (addr, len) = (self.0.start, self.0.len());
        // SAFETY: ours.
        unsafe { sys::mprotect(addr, len, READ_WRITE)? };
        // SAFETY: mapped by us.
        let state = unsafe { thp::advise(addr, len) };
        if ahead && !nodes::are_several() {
            for_each_run(extent, units.clone(), |offset, len| {
                // SAFETY: ours, and nothing but zero. Where it fails the copy
                // takes what it needs.
                let _ = unsafe { populate::populate(addr + offset, len, facts::thp_size()) };
            });
        }
        Ok(state)
    }

    /// Copies what is in use of a run of units, and gives the copy the same
    /// access. A store that happens meanwhile may be in it or not.
    ///
    /// # Errors
    /// When the kernel does not give the access.
    ///
    /// # Safety
    /// The units must stay mapped and readable, and be as long.
    pub unsafe fn fill(&self, extent: &Extent, units: Range<usize>) -> Result<()> {
        let (addr, len) = (self.0.start, self.0.len());
        // SAFETY: as the caller says.
        unsafe { copy(extent, units, addr) };
        if extent.prot != READ_WRITE {
            // SAFETY: ours.
            unsafe { sys::mprotect(addr, len, extent.prot)? };
        }
        Ok(())
    }

    /// Moves it over what it is a copy of.
    ///
    /// # Errors
    /// When the kernel cannot; what it could stays there.
    ///
    /// # Safety
    /// It must hold what must be at `addr` from now on.
    pub unsafe fn put_over(mut self, addr: usize) -> Result<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let (start, len) = (self.0.start, self.0.len());
        // SAFETY: as the caller says.
        unsafe { sys::mremap(start, len, len, flags, addr)? };
        // What was moved is not ours to unmap any more.
        self.0.start = self.0.end;
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            // SAFETY: ours, and nothing refers to it.
            let _ = unsafe { sys::munmap(self.0.start, self.0.len()) };
        }
    }
}

/// Calls `each` with the offset and the length of each run of slices in use.
fn for_each_run(extent: &Extent, units: Range<usize>, mut each: impl FnMut(usize, usize)) {
    let slices = extent.slices_of(units);
    let mut from = slices.start;
    while let Some(run) = extent.slices().first_run(from..slices.end) {
        each((run.start - slices.start) * SLICE, run.len() * SLICE);
        from = run.end;
    }
}

/// Copies what is in use of a run of units to writable memory at `aside`.
///
/// # Safety
/// The units must be readable, and `aside` writable and as long, with nothing there yet.
unsafe fn copy(extent: &Extent, units: Range<usize>, aside: usize) {
    let addr = extent.address(units.start);
    for_each_run(extent, units, |offset, len| {
        // SAFETY: slices in use are readable; the two ranges are different
        // mappings of equal length.
        unsafe { fresh_copy::copy(addr + offset, aside + offset, len) };
    });
}
