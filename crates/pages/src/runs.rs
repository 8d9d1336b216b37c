//! What of our memory can be replaced: private hugetlb pages that a child may
//! write to, before a fork, and base pages of which more has become.

use core::ops::Range;

use crate::register;
use crate::slices::SLICE;
use crate::unit::State;
use crate::window::{Holds, Window};

/// So much on both sides of the stack pointer stays as it is, where a stack
/// lies in our memory: a thread cannot replace what it runs on.
const STACK: usize = 256 << 10;

/// The windows whose pages a child may write to.
pub fn writable() -> impl Iterator<Item = &'static Window> {
    register::windows().filter(|window| window.holds != Holds::Text)
}

/// How much of a window is in use on hugetlb pages.
pub fn hugetlb_bytes(window: &Window) -> usize {
    let units = window.units().iter();
    let slices = units.map(|unit| match unit.load() {
        (state, used) if state.is_inherited() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// The runs of units of a window that are hugetlb pages and can be replaced.
pub fn hugetlb(window: &Window) -> impl Iterator<Item = Range<usize>> {
    pieces(window, usize::MAX).map(|(units, _)| units)
}

/// The same in pieces of at most `piece` bytes, and at least one page; and what
/// they are. Each is found when the iterator gets there.
pub fn pieces(window: &Window, piece: usize) -> impl Iterator<Item = (Range<usize>, State)> {
    let stack = stack();
    let most = (piece / window.layout.unit).max(1);
    let mut at = 0;
    core::iter::from_fn(move || {
        let last = window.units().len();
        let first = (at..last).find(|unit| replaceable(window, *unit, &stack).is_some())?;
        let state = replaceable(window, first, &stack)?;
        let units = match state {
            State::Big => window.page_of(first, state),
            _ => {
                let limit = first.saturating_add(most).min(last);
                let differs = |unit: &usize| replaceable(window, *unit, &stack) != Some(state);
                first..(first..limit).find(differs).unwrap_or(limit)
            }
        };
        at = units.end;
        Some((units, state))
    })
}

/// The first run of units of base pages in use from `from` on, of at most `piece`
/// bytes, and at least one unit, that can be replaced.
pub fn base(window: &Window, from: usize, piece: usize) -> Option<Range<usize>> {
    let stack = stack();
    let is_base = |unit: &usize| {
        let (state, used) = window.units()[*unit].load();
        state == State::Base && used > 0 && !meets(window, &(*unit..*unit + 1), &stack)
    };
    let last = window.units().len();
    let first = (from..last).find(is_base)?;
    let limit = first + (piece / window.layout.unit).max(1);
    let units = first..limit.min(last);
    let end = units.clone().find(|unit| !is_base(unit));
    Some(first..end.unwrap_or(units.end))
}

/// Whether a run of units meets a range of addresses.
fn meets(window: &Window, units: &Range<usize>, range: &Range<usize>) -> bool {
    let units = window.range_of(units);
    units.start < range.end && range.start < units.end
}

/// What stands behind a unit, where it is a hugetlb page that nobody runs on.
fn replaceable(window: &Window, unit: usize, stack: &Range<usize>) -> Option<State> {
    let (state, _) = window.units()[unit].load();
    let page = window.page_of(unit, state);
    (state.is_inherited() && !meets(window, &page, stack)).then_some(state)
}

/// Where this thread runs.
#[inline(never)]
fn stack() -> Range<usize> {
    let here = 0_u8;
    let at = core::ptr::from_ref(&here) as usize;
    at.saturating_sub(STACK)..at.saturating_add(STACK)
}
