//! Puts pages behind units, from the requested size down to base pages, and takes them back.
#![expect(unsafe_code, reason = "maps memory by address")]

use core::ops::Range;

use hugetools_contract::env::Fallback;

use crate::config;
use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, address_space};
use crate::heap::{big_page, small_heap};
use crate::kernel::{facts, hugetlb_pool};
use crate::policy::pool_backoff::BACKOFF;
use crate::policy::{quota, release, required, thp};
use crate::rt::fork_gate;
use crate::sys::{self, Errno, Result};

/// Hugetlb mappings extend to a multiple of this many units: adjacent ones don't merge, and a
/// process may have 65530 VMAs.
const UNITS_PER_MAPPING: usize = 32;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Makes a range of an extent accessible; parts in use keep their contents. Returns whether all
/// of it is known to be zero. The allocator never changes overlapping ranges at the same time.
///
/// # Errors
/// If no pages are left; or no huge pages, and the heap may not fall back.
pub fn commit(extent: &Extent, addr: usize, len: usize) -> Result<bool> {
    let _pass = fork_gate::GATE.pass();
    let huge = config::get().heap.is_some() && !small_heap::is_on_base_pages(len);
    commit_slices(extent, extent.slice_range(addr, len), huge)
}

/// Takes a range back; its contents are lost.
pub fn decommit(extent: &Extent, addr: usize, len: usize) {
    let _pass = fork_gate::GATE.pass();
    take_back(extent, extent.slice_range(addr, len));
}

/// Marks slices as used and puts pages behind units that have none. Returns whether all of it
/// is known to be zero. After an error the pages put so far stay.
fn commit_slices(extent: &Extent, slices: Range<usize>, huge: bool) -> Result<bool> {
    let per_unit = extent.layout.unit / SLICE;
    let last = slices.end.div_ceil(per_unit);
    let part = |unit: usize| {
        let whole = extent.slices_of(unit..unit + 1);
        whole.start.max(slices.start)..whole.end.min(slices.end)
    };
    let mut zero = true;
    let mut unit = slices.start / per_unit;
    while unit < last {
        let (state, _) = extent.units()[unit].settled();
        if !state.is_empty() {
            if mark_used(extent, unit, part(unit)) {
                zero = false;
                unit += 1;
            }
            continue;
        }
        let run = claim(extent, unit..last, state);
        let (done, result) = fill(extent, run.clone(), state, huge, part);
        if let Err(error) = result {
            give_up(extent, done..run.end);
            return Err(error);
        }
        unit = run.end;
    }
    Ok(zero)
}

/// Publishes claimed units that got no pages.
fn give_up(extent: &Extent, units: Range<usize>) {
    // SAFETY: claimed and not handed out.
    let state = unsafe { extent.clear(&units) };
    for unit in units {
        extent.units()[unit].publish(state, 0);
    }
}

/// Marks slices of a unit that has pages; `false` if it has none any more.
fn mark_used(extent: &Extent, unit: usize, part: Range<usize>) -> bool {
    let word = &extent.units()[unit];
    loop {
        let (state, used) = word.settled();
        if state.is_empty() {
            return false;
        }
        if word.replace((state, used), (State::Busy, used)) {
            let fresh = extent.mark(part);
            word.publish(state, used + fresh);
            return true;
        }
    }
}

/// Claims the leading units of `range` that are in `state`.
fn claim(extent: &Extent, range: Range<usize>, state: State) -> Range<usize> {
    let claimed = |unit: &usize| extent.units()[*unit].claim(state).is_some();
    let end = range.clone().find(|unit| !claimed(unit));
    range.start..end.unwrap_or(range.end)
}

/// Fills claimed units rung by rung and publishes them. Returns the first unit that was not
/// filled, and why.
fn fill(
    extent: &Extent,
    run: Range<usize>,
    state: State,
    huge: bool,
    part: impl Fn(usize) -> Range<usize>,
) -> (usize, Result<()>) {
    let publish = |units: Range<usize>, state: State| {
        for unit in units {
            let used = extent.mark(part(unit));
            extent.units()[unit].publish(state, used);
        }
    };
    let mut at = run.start;
    if huge {
        at = big_page::fill(extent, at..run.end, state, &publish);
        at = fill_huge(extent, at..run.end, state, &publish);
        let left = (run.end - at) * extent.layout.unit;
        if at < run.end && wants_hugetlb(extent) && !required::heap_may_fall_back(left) {
            required::report_heap_refused(left);
            return (at, Err(Errno(libc::ENOMEM)));
        }
    }
    if at == run.end {
        return (at, Ok(()));
    }
    match fill_plain(extent, at..run.end, huge) {
        Ok(state) => {
            if huge && !wants_hugetlb(extent) {
                if let Err(error) = populate_thp(extent, at..run.end, state) {
                    return (at, Err(error));
                }
            }
            publish(at..run.end, state);
            (run.end, Ok(()))
        }
        Err(error) => (at, Err(error)),
    }
}

/// Populates transparent huge pages if they are required.
fn populate_thp(extent: &Extent, run: Range<usize>, state: State) -> Result<()> {
    let (addr, len) = (extent.address(run.start), run.len() * extent.layout.unit);
    // SAFETY: claimed and mapped just now, zero, and not handed out.
    let is_populated = || state == State::Thp && unsafe { thp::populate(addr, len) }.is_ok();
    if config::share_of_heap().is_none() || is_populated() || required::heap_may_fall_back(len) {
        return Ok(());
    }
    required::report_heap_refused(len);
    // SAFETY: likewise.
    let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    Err(Errno(libc::ENOMEM))
}

fn wants_hugetlb(extent: &Extent) -> bool {
    extent.layout.huge || extent.layout.big > 0
}

/// Fills units with hugetlb pages, up to the first unit that gets none.
fn fill_huge(
    extent: &Extent,
    run: Range<usize>,
    state: State,
    publish: &impl Fn(Range<usize>, State),
) -> usize {
    let size = extent.layout.unit;
    if run.is_empty() || !extent.layout.huge || !BACKOFF.may_ask(run.len() * size) {
        return run.start;
    }
    if state == State::Empty && !map_huge(extent, &run) {
        return run.start;
    }
    for unit in run.clone() {
        // SAFETY: claimed and mapped, not handed out yet.
        let result = unsafe { quota::populate(extent.address(unit), size) };
        if result.is_err() {
            BACKOFF.begin(size);
            return unit;
        }
        publish(unit..unit + 1, State::Huge);
    }
    run.end
}

/// Maps hugetlb memory over a claimed run and the unused units behind it, to save VMAs.
fn map_huge(extent: &Extent, run: &Range<usize>) -> bool {
    let size = extent.layout.unit;
    // RLIMIT_DATA counts unpopulated hugetlb mappings, too; a larger page needs units without a
    // mapping.
    let limit = match facts::has_data_limit() || extent.layout.big > 0 {
        true => run.end,
        false => run.end.next_multiple_of(UNITS_PER_MAPPING),
    };
    let limit = limit.min(extent.units().len());
    let ahead = claim(extent, run.end..limit, State::Empty);
    let len = (ahead.end - run.start) * size;
    // SAFETY: all units of the range are unused and claimed.
    let mapped =
        unsafe { hugetlb_pool::map_private_over(extent.address(run.start), len, size) }.is_ok();
    for unit in ahead {
        let state = if mapped {
            State::EmptyHuge
        } else {
            State::Empty
        };
        extent.units()[unit].publish(state, 0);
    }
    if !mapped {
        BACKOFF.begin(size);
    }
    mapped
}

/// Maps ordinary memory, with or without advice for transparent huge pages. It replaces a
/// hugetlb mapping, which must not be handed out without pages.
fn fill_plain(extent: &Extent, run: Range<usize>, huge: bool) -> Result<State> {
    let (addr, len) = (extent.address(run.start), run.len() * extent.layout.unit);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: claimed and not handed out.
    unsafe { sys::mmap(addr, len, READ_WRITE, flags, -1, 0)? };
    // With fallback=base the advice is MADV_NOHUGEPAGE, needed if THP is set to always.
    if !huge && config::get().fallback != Fallback::Base {
        return Ok(State::Base);
    }
    // SAFETY: mapped just now.
    Ok(unsafe { thp::advise(addr, len) })
}

/// Marks slices as unused and frees units without used slices.
fn take_back(extent: &Extent, slices: Range<usize>) {
    let per_unit = extent.layout.unit / SLICE;
    let mut at = slices.start;
    while at < slices.end {
        let unit = at / per_unit;
        let end = slices.end.min((unit + 1) * per_unit);
        take_back_in(extent, unit, at..end);
        at = end;
    }
}

fn take_back_in(extent: &Extent, unit: usize, part: Range<usize>) {
    let word = &extent.units()[unit];
    loop {
        let (state, used) = word.settled();
        if state.is_empty() {
            return;
        }
        if word.replace((state, used), (State::Busy, used)) {
            let left = used - extent.unmark(part.clone()).min(used);
            let state = match left {
                0 => free(extent, unit, state),
                _ => trim(extent, part, state),
            };
            word.publish(state, left);
            if left == 0 && state == State::Big {
                big_page::free(extent, unit);
            }
            return;
        }
    }
}

/// Frees a claimed, unused unit; returns its new state.
fn free(extent: &Extent, unit: usize, state: State) -> State {
    let (addr, len) = (extent.address(unit), extent.layout.unit);
    if state == State::Big {
        // Other units share the page; see `big_page::free`.
        return state;
    }
    // MADV_DONTNEED keeps the mapping for the next page; it works for hugetlb since Linux 5.18.
    let stays = state == State::Huge && !facts::has_data_limit();
    // SAFETY: claimed, and nothing in it is used.
    let drop_page = || unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    let now = match stays && drop_page().is_ok() {
        true => State::EmptyHuge,
        // SAFETY: claimed, and nothing in it is used.
        false => match unsafe { address_space::clear(addr, len) } {
            Ok(()) => State::Empty,
            Err(_) => return state,
        },
    };
    release::give_units(extent, state, len);
    now
}

/// Frees base pages of unused slices in a used unit. Huge pages stay whole.
fn trim(extent: &Extent, part: Range<usize>, state: State) -> State {
    if state == State::Base {
        let (addr, len) = (extent.base + part.start * SLICE, part.len() * SLICE);
        // SAFETY: the slices are not in use, and ordinary memory is mapped there.
        let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    }
    state
}
