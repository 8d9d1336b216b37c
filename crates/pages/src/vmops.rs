//! The program's memory calls: `mmap`, `munmap`, `mprotect`, `madvise`, `mremap`, `mbind`, `mlock`,
//! `shmat`, `shmdt`. The program passes the lengths that it requested; they
//! needn't be whole huge pages.
//!
//! The [`registry`] finds the owner of a range:
//!
//! * [`shared`]: shared memory on hugetlb pages, mapped by [`map_shared`], attached by
//!   [`attach`], turned into ordinary memory by [`step_down`], moved by [`remap`].
//! * [`private`]: heap and ELF segments; most calls make their pool pages ordinary memory first.
//! * [`anon`]: large private mappings of the program, aligned and advised.
//! * Other memory isn't ours: after `None` callers make the call ([`mbind`] makes it itself).
//!
//! [`map_file`] advises mappings of tmpfs files, which need no table.
//!
//! **Invariants.** Errors are the kernel's; the first failure due to huge pages is reported.
//!
//! **Locks.** Shared memory's.
//!
//! **At a fork.** The fork waits for a call that changes a table.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use crate::extent::{index, mlocked};
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::{LockedTable, lock_table};
use crate::rt::weak;
use crate::sys::{self, Result};

pub mod advice;
pub mod anon;
pub mod attach;
pub mod map_file;
pub mod map_shared;
pub mod private;
mod range;
pub mod remap;
pub mod shared;
pub mod step_down;

use range::{overlap, pages, touched};

/// Moves private memory of ours in a range to ordinary memory; returns the pages of the range if
/// they overlap shared memory of ours.
fn step_down_private(addr: usize, len: usize) -> Option<Range<usize>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    private::before_change(&range);
    registry::shared::overlaps(&range).then_some(range)
}

/// Calls `each` for every part of the range, with its region, or with `None` between regions.
fn divide(
    range: &Range<usize>,
    mut each: impl FnMut(&mut LockedTable, Option<Region>, Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut table = lock_table();
    let mut at = range.start;
    while at < range.end {
        let rest = at..range.end;
        let region = table.first(&rest);
        let part = match region {
            Some(region) if region.base <= at => overlap(&rest, &region.mapped()),
            Some(region) => at..region.base,
            None => rest,
        };
        let inside = region.filter(|region| region.base <= at);
        each(&mut table, inside, part.clone())?;
        at = part.end;
    }
    Ok(())
}

/// Returns the range that `mprotect` of this libc changes: musl rounds it to whole pages.
pub fn mprotect_range(addr: usize, len: usize) -> (usize, usize) {
    match touched(addr, len) {
        Some(range) if !weak::is_glibc() => (range.start, range.len()),
        _ => (addr, len),
    }
}

/// `munmap(2)`
pub fn munmap(addr: usize, len: usize) -> Option<Result<()>> {
    let range = step_down_private(addr, len)?;
    Some(divide(&range, |table, region, part| match region {
        Some(region) => shared::munmap(table, region, &part),
        // SAFETY: the program unmaps it.
        None => unsafe { sys::munmap(part.start, part.len()) },
    }))
}

/// `mprotect(2)`, or `pkey_mprotect(2)` with a key.
pub fn mprotect(addr: usize, len: usize, prot: c_int, key: Option<c_int>) -> Option<Result<()>> {
    let access = shared::Access { prot, key };
    if let Err(error) = anon::commit(addr, len, prot) {
        return Some(Err(error));
    }
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    if !registry::shared::overlaps(&range) {
        return private::mprotect(&range, access);
    }
    Some(divide(&range, |table, region, part| match region {
        Some(region) => shared::mprotect(table, region, &part, access),
        None => private::mprotect(&part, access).unwrap_or_else(|| {
            // SAFETY: the program protects it.
            unsafe { access.apply(&part) }
        }),
    }))
}

/// `madvise(2)`
pub fn madvise(addr: usize, len: usize, advice: c_int) -> Option<Result<()>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    if !registry::overlaps(&range) {
        return None;
    }
    Some(divide(&range, |table, region, part| match region {
        Some(region) => shared::madvise(table, region, &part, advice),
        None => private::madvise(&part, advice),
    }))
}

/// `mbind(2)`. Private memory of ours becomes ordinary memory and moves to the new nodes
/// (`MPOL_MF_MOVE`): it was populated before the program touched it. Shared memory becomes ordinary
/// if the range covers part of a huge page.
///
/// # Safety
/// As for [`sys::mbind`].
pub unsafe fn mbind(
    addr: usize,
    len: usize,
    mode: usize,
    (mask, max): (usize, usize),
    flags: usize,
) -> Result<()> {
    const MOVE: usize = 2;
    let range = pages(addr, len)?;
    private::before_change(&range);
    // We populate before the program touches the memory.
    let is_ours = index::overlaps(&range) || registry::shared::overlaps(&range);
    let flags = flags | if is_ours { MOVE } else { 0 };
    let bind = |range: &Range<usize>| {
        // SAFETY: upheld by the caller.
        unsafe { sys::mbind(range.start, range.len(), mode, mask, max, flags) }
    };
    if !registry::shared::overlaps(&range) {
        // SAFETY: upheld by the caller.
        return unsafe { sys::mbind(addr, len, mode, mask, max, flags) };
    }
    divide(&range, |table, region, part| match region {
        Some(region) => shared::mbind(table, region, &part, bind),
        None => bind(&part),
    })
}

/// Records a successful `mlock(2)` or `mlock2(2)`.
pub fn locked(addr: usize, len: usize) {
    let is_huge =
        |range: &Range<usize>| private::has_huge_pages(range) || registry::shared::overlaps(range);
    if let Some(range) = touched(addr, len).filter(is_huge) {
        mlocked::note(&range);
    }
}

/// Call it before the program maps or moves something to a fixed address. Private memory of ours
/// becomes ordinary memory; so does shared memory if the range covers part of a huge page.
pub fn before_fixed(addr: usize, len: usize) -> Result<()> {
    let Some(range) = step_down_private(addr, len) else {
        return Ok(());
    };
    divide(&range, |table, region, part| match region {
        Some(region) => shared::make_replaceable(table, region, &part),
        None => Ok(()),
    })
}

/// Forgets shared memory where the kernel has made a new mapping: it was replaced, or was gone
/// unseen, as in a forked child after `MADV_DONTFORK`.
pub fn after_mapping(addr: usize, len: usize) {
    let Some(range) = touched(addr, len).filter(registry::shared::overlaps) else {
        return;
    };
    let _ = divide(&range, |table, region, part| {
        if let Some(region) = region {
            shared::forget(table, region, &part);
        }
        Ok(())
    });
}

/// `mremap(2)`. After `None` pass the call on, then call [`moved`].
pub fn mremap(call: &remap::Call) -> Option<Result<usize>> {
    let done = remap::mremap(*call).or_else(|| anon::admit_growth(call).err().map(Err));
    if let Some(Ok(to)) = done {
        anon::remapped(call, to);
    }
    done
}

/// Records an `mremap` that was passed on.
pub fn moved(call: &remap::Call, to: usize) {
    after_mapping(to, call.new_len);
    anon::remapped(call, to);
}
