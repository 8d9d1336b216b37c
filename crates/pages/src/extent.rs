//! Our address space. An [`Extent`] is divided into [`unit`](mod@unit)s of one huge page, and these
//! into slices ([`slice_bitmap`]). [`index`] lists all extents.
//!
//! A unit gets memory with its first slice in use, and loses it with the last one; a larger page
//! goes with the last slice of all its units. Other modules choose the pages.
//!
//! **Invariants.** Extents don't overlap. Marking a slice that is already marked, or unmarking an
//! unused one, doesn't change [`usage`]. Nothing here asks a pool for pages.
//!
//! **Locks.** Only the thread that marked a unit busy changes it; readers take no lock.
//!
//! **At a fork.** The tables are copied. The child finishes changes of other threads
//! (`Unit::adopt`).
#![expect(unsafe_code, reason = "keeps its own tables in mapped memory")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use self::page_sizes::Layout;
use self::slice_bitmap::{SLICE, Slices};
use self::unit::{State, Unit};
use crate::sys::{self, Errno, Result};

pub mod address_space;
pub mod index;
pub mod mlocked;
pub mod page_sizes;
pub mod room;
pub mod slice_bitmap;
pub mod unit;
pub mod usage;

/// Contents of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The heap.
    Heap,
    /// Data and bss.
    Data,
    /// Code and read-only data. Nobody writes, so a fork causes no copies.
    Text,
}

/// Reserved address space and its backing.
#[derive(Debug)]
pub struct Extent {
    /// The first address.
    pub base: usize,
    /// The length in bytes, a multiple of `layout.unit`.
    pub len: usize,
    /// Its page sizes.
    pub layout: Layout,
    /// Its contents.
    pub holds: Holds,
    /// Its `PROT_*` flags for the program.
    pub prot: c_int,
    /// Number of units before the first larger page.
    lead_units: usize,
    units: &'static [Unit],
    slices: &'static [AtomicU64],
    used: AtomicUsize,
}

impl Extent {
    /// Reserves `lead` bytes for the allocator's tables, then `len` bytes aligned to the largest
    /// page of `layout`; both are rounded up.
    pub fn reserve(lead: usize, len: usize, layout: Layout) -> Result<&'static Extent> {
        let no_memory = Errno(libc::ENOMEM);
        let granule = layout.unit.max(layout.big);
        let len = len.checked_next_multiple_of(granule).ok_or(no_memory)?;
        let lead = lead.next_multiple_of(layout.unit);
        // The lead takes the end of one more granule, so that the rest is aligned.
        let extra = if lead == 0 { 0 } else { granule };
        let reserved = len.checked_add(extra).ok_or(no_memory)?;
        let start = address_space::reserve(reserved, granule)?;
        let base = start + extra - lead;
        if base > start {
            address_space::release(start, base - start);
        }
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let range = base..base + lead + len;
        let extent = Extent::with_tables(range, lead, layout, Holds::Heap, prot);
        if extent.is_err() {
            // SAFETY: reserved just now, and nothing refers to it.
            let _ = unsafe { sys::munmap(base, lead + len) };
        }
        extent
    }

    /// Makes an extent of memory that the program already uses; [`usage`] doesn't count it. Its
    /// units are empty until [`Extent::publish_first`].
    pub fn adopt(
        range: Range<usize>,
        layout: Layout,
        holds: Holds,
        prot: c_int,
    ) -> Result<&'static Extent> {
        let extent = Extent::with_tables(range, 0, layout, holds, prot)?;
        let slices = extent.slice_range(extent.base, extent.len);
        let used = extent.slices().set(slices);
        extent.used.store(used as usize, Ordering::Relaxed);
        Ok(extent)
    }

    fn with_tables(
        range: Range<usize>,
        lead: usize,
        layout: Layout,
        holds: Holds,
        prot: c_int,
    ) -> Result<&'static Extent> {
        let (base, len) = (range.start, range.len());
        let units = len / layout.unit;
        let words = Slices::words(len / SLICE);
        let units_offset = size_of::<Extent>().next_multiple_of(8);
        let slices_offset = (units_offset + units * size_of::<Unit>()).next_multiple_of(8);
        let table = sys::map_new(slices_offset + words * size_of::<AtomicU64>())?;
        let extent = Extent {
            base,
            len,
            layout,
            holds,
            prot,
            lead_units: lead / layout.unit,
            // SAFETY: `units` zero words, each an empty unit, in the new mapping, which is
            // never unmapped.
            units: unsafe {
                core::slice::from_raw_parts((table + units_offset) as *const Unit, units)
            },
            // SAFETY: likewise, the aligned words that follow.
            slices: unsafe {
                core::slice::from_raw_parts((table + slices_offset) as *const AtomicU64, words)
            },
            used: AtomicUsize::new(0),
        };
        let place = table as *mut Extent;
        // SAFETY: the mapping is page aligned, large enough and ours alone.
        unsafe { place.write(extent) };
        // SAFETY: written above; changed only through atomics.
        Ok(unsafe { &*place })
    }

    /// Publishes the state of the units in the first `len` bytes of adopted memory, all in use.
    pub fn publish_first(&self, len: usize, state: State) {
        let slices = u32::try_from(self.layout.unit / SLICE).unwrap_or(1).max(1);
        for unit in &self.units[..len / self.layout.unit] {
            unit.publish(state, slices);
        }
    }

    /// Unmaps an unused extent of the heap. Adopted memory stays.
    fn unmap(&self) {
        if self.holds == Holds::Heap {
            usage::subtract(self.used.load(Ordering::Relaxed) * SLICE);
            // SAFETY: the allocator didn't take it.
            let _ = unsafe { sys::munmap(self.base, self.len) };
        }
    }

    /// Whether an address lies in the extent.
    pub fn contains(&self, addr: usize) -> bool {
        addr >= self.base && addr - self.base < self.len
    }

    /// Its units.
    pub fn units(&self) -> &'static [Unit] {
        self.units
    }

    /// The bitmap of slices in use.
    pub fn slices(&self) -> Slices<'static> {
        Slices(self.slices)
    }

    /// The slices of a range of units.
    pub fn slices_of(&self, units: Range<usize>) -> Range<usize> {
        let per_unit = self.layout.unit / SLICE;
        units.start * per_unit..units.end * per_unit
    }

    /// The address of a unit.
    pub fn address(&self, unit: usize) -> usize {
        self.base + unit * self.layout.unit
    }

    /// The addresses of a range of units.
    pub fn range_of(&self, units: &Range<usize>) -> Range<usize> {
        self.address(units.start)..self.address(units.end)
    }

    /// Replaces units by inaccessible address space; returns their new state.
    ///
    /// # Safety
    /// They must be unused, and nobody else may change them.
    pub unsafe fn clear(&self, units: &Range<usize>) -> State {
        let range = self.range_of(units);
        // SAFETY: upheld by the caller.
        match unsafe { address_space::clear(range.start, range.len()) } {
            Ok(()) => State::Empty,
            // A hugetlb mapping may have stayed.
            Err(_) => State::EmptyHuge,
        }
    }

    /// The unit that holds an address of the extent.
    pub fn unit_at(&self, addr: usize) -> usize {
        (addr - self.base) / self.layout.unit
    }

    /// Number of slices in use.
    pub fn used_slices(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The slices of a range of addresses.
    pub fn slice_range(&self, addr: usize, len: usize) -> Range<usize> {
        let start = (addr - self.base) / SLICE;
        let end = (addr + len - self.base).div_ceil(SLICE);
        start..end.min(self.len / SLICE)
    }

    /// Marks slices as in use; returns how many were not.
    pub fn mark(&self, slices: Range<usize>) -> u32 {
        let fresh = self.slices().set(slices);
        self.used.fetch_add(fresh as usize, Ordering::Relaxed);
        usage::add(fresh as usize * SLICE);
        fresh
    }

    /// Marks slices as unused; returns how many were in use.
    pub fn unmark(&self, slices: Range<usize>) -> u32 {
        let cleared = self.slices().clear(slices);
        self.used.fetch_sub(cleared as usize, Ordering::Relaxed);
        usage::subtract(cleared as usize * SLICE);
        cleared
    }

    /// Size of the hugetlb pages of units in this state.
    pub fn page_size(&self, state: State) -> usize {
        match state {
            State::Big => self.layout.big,
            _ => self.layout.unit,
        }
    }

    /// The units that share a page with this unit.
    pub fn units_of_page(&self, unit: usize, state: State) -> Range<usize> {
        match state {
            State::Big => self.group_of(unit).unwrap_or(unit..unit + 1),
            _ => unit..unit + 1,
        }
    }

    /// The aligned units of a larger page around this one; `None` if there is no such size.
    pub fn group_of(&self, unit: usize) -> Option<Range<usize>> {
        let per_group = self.layout.big / self.layout.unit;
        let offset = unit.checked_sub(self.lead_units)?;
        let start = self.lead_units + offset.checked_div(per_group)? * per_group;
        Some(start..start + per_group)
    }
}
