//! What the program asks of memory, one way in for each call: `munmap`,
//! `mprotect`, `madvise`, `mremap`, `mbind`, `mlock` and their kin, `mmap` at a
//! fixed address, `shmat` and `shmdt`. The lengths are those that it knows, and
//! that the kernel, for a huge page, does not take.
//!
//! The [`registry`] tells whose memory a range is; each owner does the call in
//! its own way:
//!
//! * [`shared`]: shared memory on hugetlb pages. [`map_shared`] hands it out,
//!   [`attach`] attaches segments, [`step_down`] turns either into ordinary
//!   shared memory, [`remap`] moves it.
//! * [`private`]: blocks of the heap, the program's own segments: they become
//!   ordinary memory where the call names a part of a huge page, and what is dropped of the
//!   latter comes from the program's file again.
//! * [`named`]: huge pages that the program asked for by name behave as the
//!   kernel's.
//! * [`library_text`]: code of libraries, which is not registered.
//! * [`remap_file`]: what comes to lie in shared memory twice.
//! * [`by_number`]: the same calls, made through `syscall(2)`.
//! * [`anon`]: large private mappings of the program's own are advised, and known for
//!   that; the kernel does the rest.
//! * Everything else is none of ours: `None` sends the caller to whoever would
//!   have done it without us.
//!
//! **Invariants.** What the kernel would refuse is refused with its number; what it would
//! do is done, or is an error that says why, and never half of it.
//!
//! **Locks.** The turn of the table that is changed, taken once for each call.
//!
//! **At a fork.** A call that is under way ends before the fork begins.

use core::ffi::c_int;
use core::ops::Range;

use crate::extent::{index, mlocked};
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::{Open, open};
use crate::rt::weak;
use crate::sys::{self, Errno, Result};

pub mod advice;
pub mod anon;
pub mod attach;
pub mod by_number;
pub mod library_text;
pub mod map_file;
pub mod map_shared;
pub mod mbind;
pub mod named;
pub mod own_code;
pub mod private;
mod range;
pub mod remap;
pub mod remap_file;
pub mod shared;
pub mod step_down;

use advice::Holes;
use range::{overlap, pages, touched};

/// The pages that a call names, where shared memory or memory that was asked for
/// by name is among them; its private memory becomes fit for the call.
fn ours(addr: usize, len: usize) -> Option<Range<usize>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    if registry::shared::meets(&range) || registry::is_named(&range) {
        return Some(range);
    }
    private::before_change(&range);
    None
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

/// Something else is in a range now, or nothing.
fn gone(range: &Range<usize>) {
    mlocked::cut(range);
    registry::own_file::cut(range);
}

/// `munmap(2)`
pub fn munmap(addr: usize, len: usize) -> Option<Result<()>> {
    if let Ok(range) = pages(addr, len) {
        gone(&range);
    }
    let range = ours(addr, len)?;
    Some(divide(&range, |open, region, part| match region {
        None => named::munmap(&part),
        Some(region) => shared::munmap(open, region, &part),
    }))
}

/// `mprotect(2)`, or `pkey_mprotect(2)` with a key.
pub fn mprotect(addr: usize, len: usize, prot: c_int, key: Option<c_int>) -> Option<Result<()>> {
    let access = shared::Access { prot, key };
    if let Err(error) = anon::commit(addr, len, prot) {
        return Some(Err(error));
    }
    let Some(range) = ours(addr, len) else {
        return private::mprotect(&pages(addr, len).ok()?, access);
    };
    Some(divide(&range, |open, region, part| match region {
        None => named::mprotect(&part, access),
        Some(region) => shared::mprotect(open, region, &part, access),
    }))
}

/// `madvise(2)`
pub fn madvise(addr: usize, len: usize, advice: c_int) -> Option<Result<()>> {
    let range = pages(addr, len).ok().filter(|range| !range.is_empty())?;
    let others = |part: &Range<usize>| match madvise_ours(part, advice) {
        Some(result) => result,
        #[expect(unsafe_code, reason = "passes the program's advice on")]
        // SAFETY: the program's own advice.
        None => unsafe { sys::madvise(part.start, part.len(), advice) },
    };
    private::own_file::madvise(&range, advice, others).or_else(|| madvise_ours(&range, advice))
}

fn madvise_ours(range: &Range<usize>, advice: c_int) -> Option<Result<()>> {
    if !registry::meets(range) {
        return None;
    }
    let mut holes = Holes::none();
    let result = divide(range, |open, region, part| {
        holes.pass(match region {
            Some(region) => shared::madvise(open, region, &part, advice),
            None if index::meets(&part) => private::madvise(&part, advice),
            None => named::madvise(&part, advice),
        })
    });
    Some(holes.end(result))
}

/// Makes memory of ours ordinary memory, for a call that the kernel has refused for huge
/// pages; whether there was any.
pub fn make_fit(addr: usize, len: usize) -> bool {
    let Some(range) = touched(addr, len) else {
        return false;
    };
    let (is_private, is_shared) = (index::meets(&range), registry::shared::meets(&range));
    if is_private {
        private::before_change(&range);
    }
    let stepped = is_shared
        && divide(&range, |open, region, _| match region {
            Some(region) => shared::make_ordinary(open, region),
            None => Ok(()),
        })
        .is_ok();
    is_private || stepped
}

/// `posix_madvise(3)`: mere hints, for which huge pages are as good. Whether
/// memory of ours is meant.
pub fn is_hint(addr: usize, len: usize) -> bool {
    pages(addr, len).is_ok_and(|range| registry::meets(&range))
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
/// with a part of a huge page becomes ordinary memory. All of it stays, since
/// that call may fail, but for pages that others have, too, and that it replaces in full:
/// so whether it can be done is tried before, by `elsewhere`, which changes nothing. It is
/// given the length that the call adds to what the process has: what is replaced counts
/// under no limit.
///
/// # Errors
/// Where other processes share a huge page there, and those of `elsewhere`.
pub fn before_fixed(
    addr: usize,
    len: usize,
    elsewhere: impl FnOnce(usize) -> Result<()>,
) -> Result<()> {
    if is_shared(addr, len) {
        let page = sys::page_size();
        elsewhere(len.saturating_sub(shared_bytes(addr, len)).max(page))?;
    }
    let Some(range) = ours(addr, len) else {
        return Ok(());
    };
    divide(&range, |open, region, part| match region {
        None => {
            private::before_change(&part);
            Ok(())
        }
        Some(region) => shared::make_replaceable(open, region, &part),
    })
}

/// Tries a mapping at a fixed address where nothing is, of so many bytes that it adds.
///
/// # Errors
/// The kernel's.
pub fn try_elsewhere(call: &anon::Call, added: usize, fd: c_int, offset: usize) -> Result<()> {
    try_lock(call)?;
    #[expect(unsafe_code, reason = "maps memory")]
    // SAFETY: nothing is replaced.
    let at = unsafe { sys::mmap(0, added, call.prot, call.for_trial(), fd, offset)? };
    unmap_trial(at, added);
    Ok(())
}

/// Whether so much may be locked, where it is to be: what is replaced is no help there. It is
/// tried with what nobody can touch, which the kernel does not fill.
fn try_lock(call: &anon::Call) -> Result<()> {
    const FLAGS: c_int =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_LOCKED;
    if call.flags & libc::MAP_LOCKED == 0 && !mlocked::is_later() {
        return Ok(());
    }
    #[expect(unsafe_code, reason = "maps memory")]
    // SAFETY: nothing is replaced.
    match unsafe { sys::mmap(0, call.len, libc::PROT_NONE, FLAGS, -1, 0) } {
        Ok(at) => unmap_trial(at, call.len),
        Err(error @ Errno(libc::EAGAIN | libc::EPERM)) => return Err(error),
        // What is replaced counts under no other limit.
        Err(_) => {}
    }
    Ok(())
}

/// Unmaps what was mapped to try a call: whole huge pages, where it has such.
fn unmap_trial(at: usize, len: usize) {
    const SMALLEST: u32 = 12;
    const LARGEST: u32 = 34;
    for shift in SMALLEST..=LARGEST {
        let whole = len.next_multiple_of(1 << shift);
        #[expect(unsafe_code, reason = "unmaps memory")]
        // SAFETY: mapped just now; less than a whole huge page is refused.
        if unsafe { sys::munmap(at, whole) }.is_ok() {
            return;
        }
    }
}

/// How much shared memory of ours lies in a range.
fn shared_bytes(addr: usize, len: usize) -> usize {
    let mut bytes = 0;
    if let Ok(range) = pages(addr, len) {
        let _ = divide(&range, |_, region, part| {
            bytes += region.map_or(0, |_| part.len());
            Ok(())
        });
    }
    bytes
}

/// After it: what was there is not ours any more.
pub fn after_fixed(addr: usize, len: usize) {
    let Some(range) = touched(addr, len) else {
        return;
    };
    gone(&range);
    named_replaced(&range);
    if registry::shared::meets(&range) {
        shared_replaced(&mut open(), &range);
    }
}

/// After a call at a fixed address that was refused: a kernel may have unmapped before what
/// lay there. What is gone is not ours any more.
pub fn after_refused(addr: usize, len: usize) {
    let Some(range) = touched(addr, len).filter(registry::meets) else {
        return;
    };
    let page = sys::page_size();
    #[expect(unsafe_code, reason = "asks the kernel about memory by address")]
    // SAFETY: neither the place nor the length changes.
    let is_gone = |at| unsafe { sys::mremap(at, page, page, 0, 0) } == Err(Errno(libc::EFAULT));
    let mut open = open();
    let mut at = range.start;
    while let Some(region) = open.first(&(at..range.end)) {
        let part = overlap(&range, &region.mapped());
        at = region.mapped().end;
        if is_gone(part.start) {
            mlocked::cut(&part);
            shared::replaced(&mut open, region, &part);
        }
    }
}

/// The same of huge pages that were asked for by name.
fn named_replaced(range: &Range<usize>) {
    if registry::is_named(range) {
        named::replaced(range);
    }
}

/// The same of shared memory.
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
    let done = remap::mremap(*call)
        .or_else(|| anon::growth(call).err().map(Err))
        .or_else(|| anon::grow(call).map(Ok));
    match done {
        Some(Ok(now)) => {
            left_behind(call, now);
            anon::remapped(call, now);
        }
        Some(Err(_)) => refused(call),
        None => {}
    }
    done
}

/// After one that was refused: see [`after_refused`].
pub fn refused(call: &remap::Call) {
    if call.is_fixed() {
        after_refused(call.new_addr, call.new_len);
    }
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
            gone(&(kept.end..old.end));
        }
    }
}

/// After the kernel has answered `EFAULT` to one; see [`anon::in_parts`] and
/// [`map_file::joined`].
pub fn in_parts(call: &remap::Call) -> Option<Result<usize>> {
    let make_way = || match call.is_fixed() {
        true => before_fixed(call.new_addr, call.new_len, |_| Ok(())),
        false => Ok(()),
    };
    let done = anon::in_parts(call, make_way).or_else(|| map_file::joined(call));
    match done {
        Some(Ok(_)) => replaced_by(call),
        Some(Err(_)) => refused(call),
        None => {}
    }
    done
}

/// After memory was moved: what lay at a fixed address is not ours any more.
fn replaced_by(call: &remap::Call) {
    if call.is_fixed() {
        after_fixed(call.new_addr, call.new_len);
    }
}
