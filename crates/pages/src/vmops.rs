//! What the program asks of memory, one way in for each call: `munmap`,
//! `mprotect`, `madvise`, `mremap`, `mbind`, `mlock` and their kin, `mmap` at a
//! fixed address, `shmat` and `shmdt`. The lengths are those that it knows, and
//! that the kernel, for a huge page, does not take.
//!
//! The [`registry`] tells whose memory a range is; each owner does the call in
//! its own way:
//!
//! * [`shared`]: shared memory on hugetlb pages. [`map_shared`] hands it out,
//!   [`attach`] attaches segments, [`step_down`] turns a mapping into ordinary
//!   shared memory, [`remap`] moves it.
//! * [`private`]: blocks of the heap, the program's own segments: they become
//!   ordinary memory where the call names a part of a huge page.
//! * [`anon`]: large private mappings of the program's own are advised, and known for
//!   that; the kernel does the rest.
//! * Everything else is none of ours: `None` sends the caller to whoever would
//!   have done it without us.
//!
//! **Invariants.** What the kernel would refuse is refused with its number; what it would
//! do is done, or is an error that says why.
//!
//! **Locks.** The turn of the table that is changed, taken once for each call.
//!
//! **At a fork.** A call that is under way ends before the fork begins.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use crate::extent::{index, mlocked};
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::{Open, open};
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

/// The pages that a call names, where shared memory is among them; its private memory
/// becomes fit for the call.
fn ours(addr: usize, len: usize) -> Option<Range<usize>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    private::before_change(&range);
    registry::shared::meets(&range).then_some(range)
}

/// Calls `each` for every part of the range: within a region, or between them.
fn divide(
    range: &Range<usize>,
    each: impl FnMut(&mut Open, Option<Region>, Range<usize>) -> Result<()>,
) -> Result<()> {
    divide_in(&mut open(), range, each)
}

fn divide_in(
    open: &mut Open,
    range: &Range<usize>,
    mut each: impl FnMut(&mut Open, Option<Region>, Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let rest = at..range.end;
        let region = open.first(&rest);
        let part = match region {
            Some(region) if region.base <= at => overlap(&rest, &region.mapped()),
            Some(region) => at..region.base,
            None => rest,
        };
        let inside = region.filter(|region| region.base <= at);
        each(open, inside, part.clone())?;
        at = part.end;
    }
    Ok(())
}

/// The address and the length that `mprotect` of this libc means: musl's takes
/// any, and means the pages that they touch.
pub fn as_libc_has_it(addr: usize, len: usize) -> (usize, usize) {
    match touched(addr, len) {
        Some(range) if !weak::is_glibc() => (range.start, range.len()),
        _ => (addr, len),
    }
}

/// `munmap(2)`
pub fn munmap(addr: usize, len: usize) -> Option<Result<()>> {
    if let Ok(range) = pages(addr, len) {
        mlocked::cut(&range);
    }
    let range = ours(addr, len)?;
    Some(divide(&range, |open, region, part| match region {
        Some(region) => shared::munmap(open, region, &part),
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
    if !registry::shared::meets(&range) {
        return private::mprotect(&range, access);
    }
    Some(divide(&range, |open, region, part| match region {
        Some(region) => shared::mprotect(open, region, &part, access),
        None => private::mprotect(&part, access).unwrap_or_else(|| {
            // SAFETY: the program protects it.
            unsafe { access.give(&part) }
        }),
    }))
}

/// `madvise(2)`
pub fn madvise(addr: usize, len: usize, advice: c_int) -> Option<Result<()>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    if !registry::meets(&range) {
        return None;
    }
    Some(divide(&range, |open, region, part| match region {
        Some(region) => shared::madvise(open, region, &part, advice),
        None => private::madvise(&part, advice),
    }))
}

/// `mbind(2)`, with a mask that the caller vouches for. Private memory on pages of a pool
/// becomes ordinary memory for it, and moves: it was populated before the program touched it.
/// So does shared memory for a part of a huge page.
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
    let flags = flags | if index::meets(&range) { MOVE } else { 0 };
    let bind = |range: &Range<usize>| {
        // SAFETY: as the caller says.
        unsafe { sys::mbind(range.start, range.len(), mode, mask, max, flags) }
    };
    if !registry::shared::meets(&range) {
        // SAFETY: as the caller says.
        return unsafe { sys::mbind(addr, len, mode, mask, max, flags) };
    }
    divide(&range, |open, region, part| match region {
        Some(region) => shared::mbind(open, region, &part, bind),
        None => bind(&part),
    })
}

/// After `mlock(2)` or `mlock2(2)`.
pub fn locked(addr: usize, len: usize) {
    let range = touched(addr, len).filter(registry::meets);
    if let Some(range) = range {
        mlocked::add(&range);
    }
}

/// After `munlock(2)`.
pub fn unlocked(addr: usize, len: usize) {
    if let Some(range) = touched(addr, len) {
        mlocked::cut(&range);
    }
}

/// After `mlockall(2)`.
pub fn all_locked(flags: c_int) {
    mlocked::set_later(flags & libc::MCL_FUTURE != 0);
    index::look(|| {
        for extent in index::extents() {
            let used = extent.used_range();
            if flags & libc::MCL_CURRENT != 0 {
                mlocked::add(&used);
            }
            mlocked::came(&(used.end..extent.base + extent.len));
        }
    });
    if flags & libc::MCL_CURRENT != 0 {
        open().each(|region| mlocked::add(&region.known()));
    }
}

/// Whether shared memory of ours lies in a range.
pub fn is_shared(addr: usize, len: usize) -> bool {
    pages(addr, len).is_ok_and(|range| registry::shared::meets(&range))
}

/// Before the program maps or moves something to a fixed address: what of ours lies there
/// with a part of a huge page becomes ordinary memory.
///
/// # Errors
/// Where shared memory cannot.
pub fn before_fixed(addr: usize, len: usize) -> Result<()> {
    let Some(range) = ours(addr, len) else {
        return Ok(());
    };
    divide(&range, |open, region, part| match region {
        Some(region) => shared::make_replaceable(open, region, &part),
        None => Ok(()),
    })
}

/// After it: what was there is not ours any more.
pub fn after_fixed(addr: usize, len: usize) {
    let Some(range) = touched(addr, len) else {
        return;
    };
    mlocked::cut(&range);
    if registry::shared::meets(&range) {
        shared_replaced(&mut open(), &range);
    }
}

/// What of shared memory was replaced is not ours any more.
fn shared_replaced(open: &mut Open, range: &Range<usize>) {
    let _ = divide_in(open, range, |open, region, part| {
        if let Some(region) = region {
            shared::replaced(open, region, &part);
        }
        Ok(())
    });
}

/// `mremap(2)`, as far as memory of ours or a large mapping is concerned. `None` where it is
/// to be passed on, and [`moved`] is to be told.
pub fn mremap(call: &remap::Call) -> Option<Result<usize>> {
    let done = remap::mremap(*call).or_else(|| anon::growth(call).err().map(Err));
    if let Some(Ok(now)) = done {
        left_behind(call, now);
        anon::remapped(call, now);
    }
    done
}

/// After one that was passed on: where the memory is now.
pub fn moved(call: &remap::Call, now: usize) {
    left_behind(call, now);
    replaced_by(call);
    anon::remapped(call, now);
}

/// Nothing is where memory was that is elsewhere now, nor behind what was cut.
fn left_behind(call: &remap::Call, now: usize) {
    let is_gone = now != call.addr && call.flags & remap::MREMAP_DONTUNMAP == 0;
    let kept = if is_gone { 0 } else { call.new_len };
    let (old, kept) = (touched(call.addr, call.old_len), touched(call.addr, kept));
    if let (Some(old), Some(kept)) = (old, kept) {
        if kept.end < old.end && call.flags & remap::MREMAP_DONTUNMAP == 0 {
            mlocked::cut(&(kept.end..old.end));
        }
    }
}

/// After memory was moved: what lay at a fixed address is not ours any more.
fn replaced_by(call: &remap::Call) {
    if call.is_fixed() {
        after_fixed(call.new_addr, call.new_len);
    }
}
