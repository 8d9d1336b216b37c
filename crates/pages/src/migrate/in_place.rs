//! Replacing hugetlb memory by ordinary memory in a process that has no mapping
//! to spare (`vm.max_map_count`): `mremap` needs some, even where there are not
//! more of them afterwards. What hugetlb mappings hold is copied to a file in
//! memory, which is then mapped privately over all of them at once: whoever
//! reads meanwhile sees the same contents, and there are fewer mappings than
//! before. It needs the memory twice once it is written.
#![expect(unsafe_code, reason = "replaces memory by address")]

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, mlocked};
use crate::migrate::replace;
use crate::migrate::shield::Shield;
use crate::policy::release;
use crate::sys::{self, File, Filter, Result, cast};

use super::runs;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// So many mappings `mremap` wants to be free.
const SPARE: usize = 4;

/// Whether the process has hardly a mapping to spare.
fn is_needed() -> bool {
    let page = sys::page_size();
    let len = 2 * SPARE * page;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let Ok(at) = (unsafe { sys::mmap(0, len, libc::PROT_NONE, flags, -1, 0) }) else {
        return true;
    };
    // SAFETY: ours, and used by nobody.
    let divide = |page: usize| unsafe { sys::mprotect(page, 1, libc::PROT_READ) };
    // Each but the first makes two more of one.
    let mut pages = (at..at + len).step_by(2 * page);
    let divided = pages.all(|page| divide(page).is_ok());
    // SAFETY: likewise.
    let _ = unsafe { sys::munmap(at, len) };
    !divided
}

/// Replaces what a child would inherit of an extent, where that is needed; how
/// many bytes in use.
pub(crate) fn move_extent(extent: &Extent, shield: &Shield) -> usize {
    let mut moved = 0;
    // A call that the program does not make may be deadly under a filter.
    let may_try = sys::filter() == Filter::None;
    if !may_try || runs::pieces(extent, 0).next().is_none() || !is_needed() {
        return 0;
    }
    let mut at = 0;
    while let Some((found, _)) = runs::pieces_from(extent, at, 0).next() {
        let units = mapped_around(extent, found);
        at = units.end;
        moved += move_units(extent, units, shield);
    }
    moved
}

/// The units around these that hugetlb mappings hold: so many whole mappings.
fn mapped_around(extent: &Extent, units: Range<usize>) -> Range<usize> {
    let is_mapped = |unit: usize| is_mapped(extent.units()[unit].load().0);
    let before = (0..units.start).rev().take_while(|unit| is_mapped(*unit));
    let behind = (units.end..extent.units().len()).take_while(|unit| is_mapped(*unit));
    units.start - before.count()..units.end + behind.count()
}

fn is_mapped(state: State) -> bool {
    matches!(state, State::EmptyHuge | State::Huge)
}

/// Replaces a run of units; how many bytes in use. None of them where one of
/// them is being changed, or has larger pages.
fn move_units(extent: &Extent, units: Range<usize>, shield: &Shield) -> usize {
    let words = &extent.units()[units.clone()];
    let claimed = words.iter().take_while(|unit| claim(unit)).count();
    let moved = claimed == words.len() && extent.prot == READ_WRITE && {
        // SAFETY: whole mappings, claimed.
        unsafe { replace(extent, units.clone(), shield) }.is_ok()
    };
    let mut used = 0;
    for unit in &words[..claimed] {
        let (before, slices) = (unit.before(), unit.load().1);
        match (moved, before) {
            (false, before) => unit.publish(before, slices),
            (true, State::Huge) => unit.publish(State::Base, slices),
            (true, _) => unit.publish(State::Empty, 0),
        }
        if moved {
            release::give_units(extent, before, extent.layout.unit);
            used += slices as usize * SLICE;
        }
    }
    if moved {
        mlocked::restore_all(&extent.range_of(&units));
    }
    used
}

fn claim(unit: &Unit) -> bool {
    let (state, used) = unit.load();
    is_mapped(state) && unit.replace((state, used), (State::Busy, used))
}

/// # Safety
/// The units must be claimed, whole hugetlb mappings, and the shield one that is
/// strong enough.
unsafe fn replace(extent: &Extent, units: Range<usize>, shield: &Shield) -> Result<()> {
    let range = extent.range_of(&units);
    let file = File::from_fd(sys::memory_file(c"heap", cast::signed(libc::MFD_CLOEXEC))?);
    file.set_len(range.len())?;
    let fill = || {
        replace::write_to(extent, units, &file)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the file holds what is there.
        let map =
            || unsafe { sys::mmap(range.start, range.len(), READ_WRITE, flags, file.fd(), 0) };
        // It is no more than before, but the limit may have gone below that.
        sys::with_memory(map).map(drop)
    };
    // SAFETY: ours, and of this access.
    unsafe { shield.hold(&range, fill) }
}
