//! What a program does to memory that it was given: `munmap`, `mprotect`,
//! `mremap`, `madvise`, with lengths that it knows and the kernel,
//! for a huge page, does not take.
//!
//! A call on all of a region is made on all that is mapped. A call on a part
//! that is no whole number of huge pages first turns the region into ordinary
//! shared memory and then does exactly what it says. Once another process may
//! share the region that cannot be done any more: the huge pages stay, the
//! contents stay right, and the call is done as far as huge pages allow.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_pages::sys::{self, Errno, Result};
use hugetools_pages::{facts, freeze, place, private_copy};

use crate::range::{overlap, range_of};
use crate::region::{self, Open, Region};
use crate::{granted, map};

/// The pages that a call names, or the kernel's own error for none such.
pub(crate) fn pages(addr: usize, len: usize) -> Result<Range<usize>> {
    let page = facts::page_size();
    match range_of(addr, len, page) {
        Some(range) if addr % page == 0 => Ok(range),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Whether a call names memory of ours.
pub(crate) fn concerns(addr: usize, len: usize) -> bool {
    pages(addr, len).is_ok_and(|range| region::meets(&range) || granted::meets(&range))
}

/// Calls `each` for every part of the range: within a region, or between them.
pub(crate) fn divide(
    range: &Range<usize>,
    mut each: impl FnMut(&mut Open, Option<Region>, Range<usize>) -> Result<()>,
) -> Result<()> {
    let mut open = region::open();
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
        each(&mut open, inside, part.clone())?;
        at = part.end;
    }
    Ok(())
}

/// `munmap`
pub(crate) fn munmap(addr: usize, len: usize) -> Result<()> {
    divide(&pages(addr, len)?, |open, region, part| match region {
        None => granted::munmap(&part),
        Some(region) => unmap_part(open, region, &part),
    })
}

fn unmap_part(open: &mut Open, region: Region, part: &Range<usize>) -> Result<()> {
    let known = overlap(part, &region.known());
    if known.len() + region.gone >= region.len {
        // SAFETY: the program has unmapped all that it knows of it.
        unsafe { sys::munmap(region.base, region.mapped)? };
        open.update(region.base, None);
        return Ok(());
    }
    if region.may_be_shared() {
        let gone = region.gone + known.len();
        open.update(region.base, Some(Region { gone, ..region }));
        return Ok(());
    }
    step_down(open, region)?;
    // SAFETY: the program unmaps it.
    unsafe { sys::munmap(known.start, known.len()) }
}

/// `mprotect`
pub(crate) fn mprotect(addr: usize, len: usize, prot: c_int) -> Result<()> {
    divide(&pages(addr, len)?, |open, region, part| {
        let Some(region) = region else {
            return granted::mprotect(&part, prot);
        };
        let known = overlap(&part, &region.known());
        if known == region.known() {
            open.update(region.base, Some(Region { prot, ..region }));
        }
        match whole_pages(&region, &known) {
            // SAFETY: the program protects it.
            Some(range) => unsafe { sys::mprotect(range.start, range.len(), prot) },
            None if region.may_be_shared() => protect_roughly(&region, &known, prot),
            None => {
                step_down(open, region)?;
                // SAFETY: the program protects it.
                unsafe { sys::mprotect(known.start, known.len(), prot) }
            }
        }
    })
}

/// What a part of a region is in whole huge pages, where it is such; the end
/// of what the program knows is the end of what is mapped.
pub(crate) fn whole_pages(region: &Region, part: &Range<usize>) -> Option<Range<usize>> {
    let end = match part.end == region.known().end {
        true => region.mapped().end,
        false => part.end,
    };
    let whole = |addr: usize| (addr - region.base) % region.page == 0;
    (whole(part.start) && whole(end)).then_some(part.start..end)
}

/// Gives access to all huge pages that the part touches, takes it from those
/// that lie within.
fn protect_roughly(region: &Region, part: &Range<usize>, prot: c_int) -> Result<()> {
    let (page, base) = (region.page, region.base);
    let (start, end) = (part.start - base, part.end - base);
    let gives = prot & region.prot == region.prot;
    let (start, end) = match gives {
        true => (start / page * page, end.next_multiple_of(page)),
        false => (start.next_multiple_of(page), end / page * page),
    };
    if start >= end {
        return Ok(());
    }
    // SAFETY: within the region, whose access the program changes.
    unsafe { sys::mprotect(base + start, end - start, prot) }
}

/// `madvise`
pub(crate) fn madvise(addr: usize, len: usize, advice: c_int) -> Result<()> {
    divide(&pages(addr, len)?, |open, region, part| {
        let Some(region) = region else {
            return granted::madvise(&part, advice);
        };
        let known = overlap(&part, &region.known());
        let range = whole_pages(&region, &known).unwrap_or_else(|| known.clone());
        // SAFETY: the program's own advice.
        match unsafe { sys::madvise(range.start, range.len(), advice) } {
            Err(Errno(libc::EINVAL)) => advise_otherwise(open, region, &known, advice),
            result => result,
        }
    })
}

/// Advice that the kernel does not take for huge pages. What drops shared
/// pages from a process loses nothing, so it need not be done; what frees them
/// is done on ordinary memory, or by hand.
fn advise_otherwise(
    open: &mut Open,
    region: Region,
    part: &Range<usize>,
    advice: c_int,
) -> Result<()> {
    if advice != libc::MADV_REMOVE {
        return Ok(());
    }
    if region.may_be_shared() {
        // SAFETY: the program gives up the contents of this memory of its own.
        unsafe { core::ptr::write_bytes(part.start as *mut u8, 0, part.len()) };
        return Ok(());
    }
    step_down(open, region)?;
    // SAFETY: the program's own advice.
    unsafe { sys::madvise(part.start, part.len(), advice) }
}

/// `mremap` of memory that begins in a region.
pub(crate) fn mremap(
    addr: usize,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
) -> Result<usize> {
    let old = pages(addr, old_len)?;
    let new = pages(addr, new_len)?;
    if flags & libc::MREMAP_FIXED != 0 {
        make_way(new_addr, new.len())?;
    }
    let mut open = region::open();
    let Some(region) = open.first(&old).filter(|region| region.base <= addr) else {
        drop(open);
        return granted::mremap(&old, (addr, old_len, new_len), flags, new_addr);
    };
    let stays = flags & !libc::MREMAP_MAYMOVE == 0 && old == region.known();
    if stays && !new.is_empty() && new.len() <= region.mapped {
        return resize(&mut open, region, new.len());
    }
    if region.may_be_shared() {
        return Err(Errno(libc::ENOMEM));
    }
    step_down(&mut open, region)?;
    drop(open);
    // SAFETY: ordinary memory by now, which the program moves.
    unsafe { sys::mremap(addr, old_len, new_len, flags, new_addr) }
}

/// Changes the length of a region within the huge pages that it has.
fn resize(open: &mut Open, region: Region, len: usize) -> Result<usize> {
    let mapped = len.next_multiple_of(region.page);
    if mapped < region.mapped {
        // SAFETY: whole huge pages that the program gives up.
        unsafe { sys::munmap(region.base + mapped, region.mapped - mapped)? };
    }
    open.update(
        region.base,
        Some(Region {
            len,
            mapped,
            ..region
        }),
    );
    Ok(region.base)
}

/// Before the program maps something at a fixed address: takes apart what of
/// ours lies there, as that call will do with the rest.
pub(crate) fn make_way(addr: usize, len: usize) -> Result<()> {
    match concerns(addr, len) {
        true => munmap(addr, len),
        false => Ok(()),
    }
}

/// Turns a region into ordinary shared memory of the length that the program
/// knows, with the same contents and access, on the same memory nodes.
pub(crate) fn step_down(open: &mut Open, region: Region) -> Result<()> {
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let aside = unsafe { sys::mmap(0, region.mapped, read_write, flags, -1, 0)? };
    map::advise(aside, region.mapped);
    if let Err(error) = move_aside(&region, aside) {
        // SAFETY: the access that the program gave it.
        let _ = unsafe { sys::mprotect(region.base, region.mapped, region.prot) };
        return Err(error);
    }
    open.update(region.base, None);
    let tail = region.known().end..region.mapped().end;
    if !tail.is_empty() {
        // SAFETY: base pages by now, of which the program does not know.
        unsafe { sys::munmap(tail.start, tail.len())? };
    }
    // SAFETY: the access that the program gave it.
    unsafe { sys::mprotect(region.base, region.len, region.prot) }
}

/// Copies a region to other memory, which then takes its place or is freed.
fn move_aside(region: &Region, aside: usize) -> Result<()> {
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    let mut begun = false;
    let copy = || {
        begun = true;
        copy_over(region, aside)
    };
    // SAFETY: the region is ours to change, and no other process shares it.
    let opened = unsafe { sys::mprotect(region.base, region.mapped, read_write) };
    // SAFETY: as above; the copy takes its place.
    let result = opened.and_then(|()| unsafe { freeze::frozen(region.base, region.mapped, copy) });
    if !begun {
        // SAFETY: not moved, so still ours.
        let _ = unsafe { sys::munmap(aside, region.mapped) };
    }
    result
}

fn copy_over(region: &Region, aside: usize) -> Result<()> {
    // SAFETY: two mappings of this length, of which the first is not written.
    unsafe { place::copy(region.base, aside, region.len, region.page) };
    // SAFETY: `aside` is ours.
    unsafe { place::settle(region.mapped(), aside, region.page) };
    // SAFETY: the second one holds what the first one does.
    unsafe { private_copy::put_over(region.base, region.mapped, aside, region.page) }
}
