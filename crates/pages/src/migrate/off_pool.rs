//! Moves hugetlb memory to ordinary memory, before forks and operations on part of a huge page.

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, index, mlocked};
use crate::kernel::dma_users;
use crate::migrate::replace;
use crate::migrate::shield::Shield;
use crate::policy::release;
use crate::rt::fork_gate;
use crate::sys::{Errno, NoSignals, Result};

/// Result of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is ordinary memory now.
    Moved,
    /// Part of it stays: threads, DMA or io_uring may write there, or it is being changed.
    InUse,
    /// Part of it stays, for lack of memory.
    NoMemory,
}

/// Moves a range off hugetlb pages before an operation on part of them. Huge pages that the
/// program mapped itself stay.
pub fn step_down(addr: usize, len: usize) -> Outcome {
    let range = addr..addr.saturating_add(len);
    let _pass = fork_gate::GATE.pass();
    match pages_in(&range).next() {
        None => Outcome::Moved,
        Some(_) => move_pages(pages_in(&range)),
    }
}

/// The hugetlb pages that overlap a range, with their states.
fn pages_in(range: &Range<usize>) -> impl Iterator<Item = (&'static Extent, Range<usize>, State)> {
    let range = range.clone();
    index::extents().flat_map(move |extent| {
        let end = range.end.min(extent.base + extent.len);
        let mut at = range.start.max(extent.base);
        let next = move || {
            let unit = (at < end).then(|| extent.unit_at(at))?;
            let (state, _) = extent.units()[unit].settled();
            let page = extent.units_of_page(unit, state);
            at = extent.address(page.end);
            Some((extent, page, state))
        };
        core::iter::from_fn(next).filter(|(_, _, state)| state.is_hugetlb())
    })
}

fn move_pages(pages: impl Iterator<Item = (&'static Extent, Range<usize>, State)>) -> Outcome {
    // A signal handler in this thread that writes there would deadlock.
    let _quiet = NoSignals::where_allowed();
    let Some(shield) = Shield::for_process()
        .ok()
        .filter(|_| !dma_users::may_write())
    else {
        return Outcome::InUse;
    };
    let mut outcome = Outcome::Moved;
    for (extent, page, state) in pages {
        let result = move_page(extent, page, state, &shield);
        if outcome == Outcome::Moved || result == Outcome::InUse {
            outcome = result;
        }
    }
    outcome
}

/// Moves a page; tries three times, since another thread may be changing it.
fn move_page(extent: &Extent, page: Range<usize>, state: State, shield: &Shield) -> Outcome {
    const TIMES: u32 = 3;
    let word = &extent.units()[page.start];
    let mut outcome = Outcome::InUse;
    for _ in 0..TIMES {
        let moved = match word.load().0 == state {
            true => move_units(extent, page.clone(), state, shield).map(drop),
            false => Err(BUSY),
        };
        if moved.is_ok() || !word.settled().0.is_hugetlb() {
            return Outcome::Moved;
        }
        outcome = match moved {
            Err(Errno(libc::ENOMEM)) => Outcome::NoMemory,
            _ => Outcome::InUse,
        };
    }
    outcome
}

/// Another thread is changing the page.
const BUSY: Errno = Errno(libc::EBUSY);

/// Moves whole pages of one state under the shield; returns the bytes in use that moved.
///
/// # Errors
/// `EBUSY` if another thread is changing one of them; those of [`replace::replace`].
pub(crate) fn move_units(
    extent: &Extent,
    units: Range<usize>,
    state: State,
    shield: &Shield,
) -> Result<usize> {
    let words = &extent.units()[units.clone()];
    let range = extent.range_of(&units);
    let claimed = words
        .iter()
        .take_while(|unit| unit.claim(state).is_some())
        .count();
    if claimed < words.len() {
        publish(&words[..claimed], state);
        return Err(BUSY);
    }
    // SAFETY: whole pages, claimed; the shield stops all other writers.
    #[expect(unsafe_code, reason = "replaces memory")]
    let result = unsafe { replace::replace(extent, units, shield) };
    publish(words, *result.as_ref().unwrap_or(&state));
    result?;
    mlocked::restore(&range);
    release::give_units(extent, state, words.len() * extent.layout.unit);
    let used = words.iter().map(|unit| unit.load().1 as usize);
    Ok(used.sum::<usize>() * SLICE)
}

fn publish(units: &[Unit], state: State) {
    for unit in units {
        let (_, used) = unit.load();
        unit.publish(state, used);
    }
}
