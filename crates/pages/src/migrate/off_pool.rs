//! Hugetlb memory moves to ordinary memory where the program does something to
//! it that base pages can and hugetlb pages cannot, and before forks.

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::stacks::{self, Stack};
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, index, mlocked};
use crate::kernel::{dma_users, pagemap};
use crate::migrate::replace;
use crate::migrate::shield::Shield;
use crate::policy::release;
use crate::rt::{fork_gate, side_stack};
use crate::sys::{self, Errno, Filter, PastLimit, Result};

/// What became of memory that was to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is ordinary memory.
    Moved,
    /// Some of it is written by a device or a ring, by page and not by address,
    /// or another thread has it just now, and stays.
    InUse,
    /// There was no memory for some of it.
    NoMemory,
}

/// Moves what of a range is on hugetlb pages to ordinary memory, for a program
/// that wants to treat base pages of it differently. Not what it asked for as
/// huge pages: see [`crate::registry::named::region`].
pub fn step_down(addr: usize, len: usize) -> Outcome {
    step_down_where(addr, len, |_| true)
}

/// Has a range on ordinary memory for good, as far as it is ours: the kernel writes there
/// where nobody can help.
pub fn keep_ordinary(addr: usize, len: usize, stack: Stack) {
    let range = addr..addr.saturating_add(len);
    if index::meets(&range) {
        stacks::keep(&range, stack);
        // Where it cannot be done the kernel writes there all the same.
        let _ = step_down(addr, len);
    }
}

fn step_down_where(addr: usize, len: usize, wanted: impl Fn(&Range<usize>) -> bool) -> Outcome {
    let range = addr..addr.saturating_add(len);
    let _pass = fork_gate::GATE.pass();
    index::look(|| {
        let concerned =
            || pages_in(&range).filter(|(extent, page, _)| wanted(&extent.range_of(page)));
        if concerned().next().is_none() {
            return Outcome::Moved;
        }
        side_stack::on_side_stack(|| lower(concerned()))
    })
}

/// The hugetlb pages that a range touches, and what each is.
fn pages_in(range: &Range<usize>) -> impl Iterator<Item = (&'static Extent, Range<usize>, State)> {
    let range = range.clone();
    index::extents().flat_map(move |extent| {
        let end = range.end.min(extent.base + extent.len);
        let mut at = range.start.max(extent.base);
        let next = move || {
            let unit = (at < end).then(|| extent.unit_at(at))?;
            let (state, _) = extent.units()[unit].settled();
            let page = extent.page_of(unit, state);
            at = extent.address(page.end);
            Some((extent, page, state))
        };
        core::iter::from_fn(next).filter(|(_, _, state)| state.is_hugetlb())
    })
}

/// Moves some pages, all at one go.
fn lower(pages: impl Iterator<Item = (&'static Extent, Range<usize>, State)>) -> Outcome {
    // The program may have no descriptor to spare.
    let _past_limit = PastLimit::begin();
    let shield = Shield::best();
    let mut outcome = Outcome::Moved;
    let is_written = dma_users::writers().may_write_now();
    for (extent, page, state) in pages {
        let addr = extent.address(page.start);
        let became = match is_written && !is_shared(addr) {
            true => Outcome::InUse,
            false => move_page(extent, page, state, &shield, is_written),
        };
        if outcome == Outcome::Moved || became == Outcome::InUse {
            outcome = became;
        }
    }
    outcome
}

/// Whether another process maps the page at an address, so that no device writes to it:
/// the kernel shares none that it does. No where that cannot be told.
fn is_shared(addr: usize) -> bool {
    // A call that the program does not make may be deadly under a filter.
    sys::filter() == Filter::None && pagemap::is_shared(addr) == Some(true)
}

/// Moves a page, which another thread may be changing just now, and where devices write
/// (`is_written`) only while it is shared.
fn move_page(
    extent: &Extent,
    page: Range<usize>,
    state: State,
    shield: &Shield,
    is_written: bool,
) -> Outcome {
    /// A page that another thread has changed and left where it is.
    const TIMES: u32 = 3;
    let word = &extent.units()[page.start];
    let addr = extent.address(page.start);
    let try_once = || match is_written {
        true => move_units_where(extent, page.clone(), state, shield, || is_shared(addr)),
        false => move_units(extent, page.clone(), state, shield),
    };
    let mut outcome = Outcome::InUse;
    for _ in 0..TIMES {
        let moved = match word.load().0 == state {
            true => try_once().map(drop),
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

/// Another thread, a device or a ring has the page.
const BUSY: Errno = Errno(libc::EBUSY);

/// Moves whole pages that are in one state, while the shield keeps others from
/// writing; how many bytes in use were moved.
///
/// # Errors
/// They stay: `EBUSY` where another thread, a device or a ring has them, or those of
/// [`replace::replace`].
pub(crate) fn move_units(
    extent: &Extent,
    units: Range<usize>,
    state: State,
    shield: &Shield,
) -> Result<usize> {
    // Another thread may have come to give a buffer to a device since the caller
    // has asked: while the pages are closed none can be given.
    let may = || !shield.is_needed() || !dma_users::newcomers().may_write_now();
    move_units_where(extent, units, state, shield, may)
}

/// The same, where `may` says so once nobody writes.
///
/// # Errors
/// Likewise.
pub(crate) fn move_units_where(
    extent: &Extent,
    units: Range<usize>,
    state: State,
    shield: &Shield,
    may: impl FnOnce() -> bool,
) -> Result<usize> {
    let words = &extent.units()[units.clone()];
    let range = extent.range_of(&units);
    let claimed = words
        .iter()
        .take_while(|unit| unit.claim(state).is_some())
        .count();
    if claimed < words.len() {
        // Another thread changes one of them just now.
        publish(&words[..claimed], state);
        return Err(BUSY);
    }
    // SAFETY: whole pages, claimed.
    #[expect(unsafe_code, reason = "replaces memory")]
    let result = unsafe { replace::replace(extent, units, shield, may) };
    publish(words, *result.as_ref().unwrap_or(&state));
    result?;
    mlocked::restore_all(&range);
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
