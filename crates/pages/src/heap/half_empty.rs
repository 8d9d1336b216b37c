//! Huge pages that hold little. Of a transparent one the rest goes back, and what is
//! left is on base pages. What is left in a page of the pool moves to ordinary memory,
//! and the page goes back: only where nobody who writes meanwhile is harmed, in a
//! process of one thread, or where the kernel keeps others waiting.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::kernel::{dma_users, facts};
use crate::migrate::off_pool;
use crate::migrate::shield::Shield;
use crate::rt::fork_gate;
use crate::{config, sys};

/// So many pages at most leave the pool by this: each divides a mapping, and a
/// process may have 65530.
const MOST: usize = 1024;

/// Bytes that were given back of huge pages that hold something else, and stayed with
/// them, since such pages were divided the last time: some may be in use again.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// Notes that so many bytes of such a page were given back.
pub(crate) fn note(bytes: usize) {
    FREED.fetch_add(bytes, Ordering::Relaxed);
}

/// Whether more than so many bytes were given back of such pages, and are free still,
/// in runs of so many bytes or more. Not what a heap that grows has not reached yet.
pub fn have_more_than(bytes: usize, free: usize) -> bool {
    FREED.load(Ordering::Relaxed) > bytes && free_in_pages(free) > bytes
}

/// How many bytes are free in huge pages that hold something else, in runs of so many
/// bytes or more.
fn free_in_pages(free: usize) -> usize {
    let in_extent = |extent: &Extent| -> usize {
        let units = 0..extent.units().len();
        let is_huge = |state: State| matches!(state, State::Huge | State::Thp);
        let held = units.filter(|unit| is_huge(extent.units()[*unit].load().0));
        held.flat_map(|unit| free_runs(extent, unit))
            .map(|run| run.len() * SLICE)
            .filter(|len| *len >= free)
            .sum()
    };
    let _pass = fork_gate::GATE.pass();
    index::look(|| {
        let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
        extents.map(in_extent).sum()
    })
}

/// Divides the huge pages of which a run of so many bytes or more is free.
pub fn divide(free: usize) {
    FREED.store(0, Ordering::Relaxed);
    let free = free / SLICE;
    let _pass = fork_gate::GATE.pass();
    let each = |work: &dyn Fn(&Extent)| {
        index::look(|| {
            let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
            extents.for_each(work);
        });
    };
    each(&|extent| trim(extent, free));
    if let Some(shield) = shield() {
        each(&|extent| leave(extent, free, &shield));
    }
}

/// What keeps others from writing to what moves; `None` where nothing does, or
/// nothing is to move.
fn shield() -> Option<Shield> {
    // It takes calls that a filter may not allow.
    if config::get().fallback == Fallback::None || facts::has_filter() {
        return None;
    }
    if dma_users::may_write() {
        return None;
    }
    match facts::has_threads() {
        false => Some(Shield::Alone),
        true => Shield::whole(),
    }
}

/// Frees what is free of transparent huge pages.
fn trim(extent: &Extent, free: usize) {
    for unit in 0..extent.units().len() {
        if extent.units()[unit].load().0 == State::Thp {
            free_what_is_free(extent, unit, free);
        }
    }
}

/// Gives back pages of the pool.
fn leave(extent: &Extent, free: usize, shield: &Shield) {
    static LEFT: AtomicUsize = AtomicUsize::new(MOST);
    for unit in 0..extent.units().len() {
        let is_concerned = extent.units()[unit].load().0 == State::Huge
            && free_runs(extent, unit).any(|run| run.len() >= free);
        if !is_concerned {
            continue;
        }
        let take = |left: usize| left.checked_sub(1);
        let taken = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if taken.is_err()
            || off_pool::move_units(extent, unit..unit + 1, State::Huge, shield).is_err()
        {
            return;
        }
        free_what_is_free(extent, unit, free);
    }
}

/// The runs of slices of a unit that are not in use.
fn free_runs(extent: &Extent, unit: usize) -> impl Iterator<Item = Range<usize>> {
    let slices = extent.slices_of(unit..unit + 1);
    let mut at = slices.start;
    core::iter::from_fn(move || {
        while at < slices.end {
            let used = extent.slices().first_run(at..slices.end);
            let used = used.unwrap_or(slices.end..slices.end);
            let free = at..used.start;
            at = used.end;
            if !free.is_empty() {
                return Some(free);
            }
        }
        None
    })
}

/// Frees what is not in use of a unit on transparent huge pages: its pages are base
/// pages then.
fn free_what_is_free(extent: &Extent, unit: usize, least: usize) {
    let word = &extent.units()[unit];
    let Some(used) = word.claim(State::Thp) else {
        return;
    };
    for run in free_runs(extent, unit).filter(|run| run.len() >= least) {
        let (addr, len) = (extent.base + run.start * SLICE, run.len() * SLICE);
        // SAFETY: claimed and not in use, and ordinary memory is mapped there.
        let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    }
    word.publish(State::Thp, used);
}
