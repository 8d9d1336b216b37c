//! What a program does to huge pages that it asked for: `munmap`, `mprotect`,
//! `madvise`, `mremap`, `mbind`. The calls are made as they are, and for parts
//! of a huge page refused as the kernel refuses them, whatever stands behind
//! the page by now. Their ranges may hold other memory, too.
//!
//! Calls that do not go through libc are not noticed.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use super::region::{extents, forget, leave, turn};
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, index};
use crate::migrate::off_pool;
use crate::migrate::shield::Shield;
use crate::sys::{self, Errno, NoSignals, Result};

const INVALID: Errno = Errno(libc::EINVAL);

/// At most so much is closed to writers at once while it moves.
const PIECE: usize = 16 << 20;

/// Whether a range holds memory of this kind.
pub fn meets(range: &Range<usize>) -> bool {
    index::look(|| parts(range).next().is_some())
}

/// The extents that have memory in a range, and the addresses in them.
fn parts(range: &Range<usize>) -> impl Iterator<Item = (&'static Extent, Range<usize>)> {
    let range = range.clone();
    let part = move |extent: &'static Extent| {
        let start = range.start.max(extent.base);
        let end = range.end.min(extent.base + extent.len);
        (start < end).then_some((extent, start..end))
    };
    extents()
        .filter_map(part)
        .filter(|(extent, part)| runs(extent, part).next().is_some())
}

/// The runs of units of an extent that a part of it touches, without those that
/// are gone.
fn runs(extent: &'static Extent, part: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let units = extent.units();
    let is_gone = |unit: &usize| units[*unit].settled().0 == State::Gone;
    let end = extent.unit_at(part.end - 1) + 1;
    let mut at = extent.unit_at(part.start);
    core::iter::from_fn(move || {
        let start = (at..end).find(|unit| !is_gone(unit))?;
        at = (start..end).find(is_gone).unwrap_or(end);
        Some(start..at)
    })
}

/// Calls `each` for all runs of units that a range touches.
fn each_run(
    range: &Range<usize>,
    mut each: impl FnMut(&'static Extent, Range<usize>) -> Result<()>,
) -> Result<()> {
    for (extent, part) in parts(range) {
        for run in runs(extent, &part) {
            each(extent, run)?;
        }
    }
    Ok(())
}

/// Refuses parts of huge pages.
fn whole_pages(range: &Range<usize>) -> Result<()> {
    let is_whole = |(extent, part): (&Extent, Range<usize>)| {
        let page = extent.layout.unit;
        part.start % page == 0 && part.end % page == 0
    };
    match parts(range).all(is_whole) {
        true => Ok(()),
        false => Err(INVALID),
    }
}

/// Refuses what the program has closed to writing or keeps from its children.
fn only_plain(range: &Range<usize>) -> Result<()> {
    each_run(range, |extent, run| {
        let special = |state: State| state.is_hugetlb() && !state.is_inherited();
        let units = &extent.units()[run];
        match units.iter().any(|unit| special(unit.settled().0)) {
            true => Err(INVALID),
            false => Ok(()),
        }
    })
}

/// Changes the states of a run of units.
fn change(extent: &Extent, run: Range<usize>, to: impl Fn(State) -> State) {
    for unit in &extent.units()[run] {
        loop {
            let (state, used) = unit.settled();
            if unit.replace((state, used), (to(state), used)) {
                break;
            }
        }
    }
}

/// Moves the units of a range that are in a state to ordinary memory.
fn lower(range: &Range<usize>, from: State) -> Result<()> {
    each_run(range, |extent, run| {
        let is_from = |unit: &usize| extent.units()[*unit].settled().0 == from;
        let most = (PIECE / extent.layout.unit).max(1);
        let mut at = run.start;
        while let Some(start) = (at..run.end).find(is_from) {
            let limit = run.end.min(start + most);
            let end = (start..limit).find(|unit| !is_from(unit));
            at = end.unwrap_or(limit);
            lower_run(extent, start..at, from)?;
        }
        Ok(())
    })
}

fn lower_run(extent: &Extent, run: Range<usize>, from: State) -> Result<()> {
    if !from.is_inherited() {
        let (addr, end) = (extent.address(run.start), extent.address(run.end));
        // SAFETY: for the copy; whoever lowers it gives it its access after.
        unsafe { sys::mprotect(addr, end - addr, libc::PROT_READ)? };
    }
    let _quiet = NoSignals::where_allowed();
    let moved = Shield::best().and_then(|shield| off_pool::move_units(extent, run, from, &shield));
    moved.map(drop).map_err(|_| Errno(libc::ENOMEM))
}

/// `munmap`
pub fn munmap(range: &Range<usize>) -> Result<()> {
    let _turn = turn();
    whole_pages(range)?;
    announce(range, |_| State::Gone);
    // SAFETY: the program unmaps it.
    let result = unsafe { sys::munmap(range.start, range.len()) };
    decide(range, result.is_ok());
    forget_gone();
    result
}

/// Says what will become of what is left in a range, once nobody is at it: a fork may
/// be copying it for its child. To be followed by [`decide`].
fn announce(range: &Range<usize>, to: impl Fn(State) -> State) {
    for (extent, part) in parts(range) {
        for unit in runs(extent, &part).flat_map(|run| &extent.units()[run]) {
            unit.hold();
            match unit.before() {
                before if to(before) == before => unit.release(),
                before => unit.announce(to(before)),
            }
        }
    }
}

/// Ends that.
fn decide(range: &Range<usize>, done: bool) {
    let meets =
        |extent: &&Extent| extent.base < range.end && range.start < extent.base + extent.len;
    let units = extents().filter(meets).flat_map(|extent| extent.units());
    units.for_each(|unit| unit.decide(done));
}

/// Forgets extents of which nothing is left.
fn forget_gone() {
    let is_gone = |unit: &Unit| unit.load().0 == State::Gone;
    let gone = || extents().find(|extent| extent.units().iter().all(is_gone));
    while let Some(extent) = gone() {
        forget(extent);
    }
}

/// After something else was mapped over a range.
pub fn replaced(range: &Range<usize>) {
    let _turn = turn();
    release(range);
}

/// Notes that what lies in a range is not ours any more.
fn release(range: &Range<usize>) {
    for (extent, part) in parts(range) {
        for run in runs(extent, &part) {
            leave(extent, run);
        }
    }
    forget_gone();
}

/// `mprotect`. What is opened to writing and shared with a child by now moves
/// to ordinary memory first; so does what is to be written and executed, for
/// which it could not move later.
pub fn mprotect(range: &Range<usize>, prot: c_int) -> Result<()> {
    let _turn = turn();
    whole_pages(range)?;
    let writable = prot & libc::PROT_WRITE != 0;
    if writable {
        lower(range, State::Lent)?;
    }
    if writable && prot & libc::PROT_EXEC != 0 {
        lower(range, State::Shut)?;
        lower(range, State::Huge)?;
    }
    if !writable {
        // What is closed is not read any more, by a child neither.
        announce(range, |state| state.protected(false));
    }
    let result = protect_runs(range, prot, writable);
    decide(range, result.is_ok());
    result?;
    // SAFETY: the program protects it.
    unsafe { sys::mprotect(range.start, range.len(), prot) }
}

fn protect_runs(range: &Range<usize>, prot: c_int, writable: bool) -> Result<()> {
    each_run(range, |extent, run| {
        let (addr, end) = (extent.address(run.start), extent.address(run.end));
        // SAFETY: the program protects it.
        unsafe { sys::mprotect(addr, end - addr, prot)? };
        if writable {
            change(extent, run, |state| state.protected(true));
        }
        Ok(())
    })
}

/// `madvise`. What is dropped becomes ordinary memory, since a huge page that
/// is not there might not be had again.
pub fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    let _turn = turn();
    let apart = match advice {
        libc::MADV_DONTFORK => Some(true),
        libc::MADV_DOFORK => Some(false),
        _ => None,
    };
    if apart.is_some() {
        whole_pages(range)?;
    }
    if advice == libc::MADV_DONTNEED {
        only_plain(range)?;
        lower(range, State::Huge)?;
    }
    // SAFETY: the program's own advice.
    let result = unsafe { sys::madvise(range.start, range.len(), advice) };
    // With a hole in the range all the rest was advised.
    let done = matches!(result, Ok(()) | Err(Errno(libc::ENOMEM)));
    if let Some(apart) = apart.filter(|_| done) {
        each_run(range, |extent, run| {
            change(extent, run, |state| state.kept_apart(apart));
            Ok(())
        })?;
    }
    result
}

/// `mremap` of memory that begins in a region. A smaller length takes away the
/// end; what moves becomes ordinary memory of the program's own; nothing grows.
pub fn mremap(
    addr: usize,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
) -> Result<usize> {
    let end = addr.checked_add(old_len).ok_or(INVALID)?;
    if new_len == 0 || new_len > old_len {
        return Err(INVALID);
    }
    if flags & !libc::MREMAP_MAYMOVE == 0 {
        if new_len < old_len {
            munmap(&(addr + new_len..end))?;
        }
        return Ok(addr);
    }
    let _turn = turn();
    let old = addr..end;
    whole_pages(&old)?;
    only_plain(&old)?;
    lower(&old, State::Huge)?;
    // SAFETY: the program moves its memory.
    let moved = unsafe { sys::mremap(addr, old_len, new_len, flags, new_addr)? };
    release(&old);
    Ok(moved)
}
