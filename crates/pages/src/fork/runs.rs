//! What of our memory can be replaced: private hugetlb pages that a child may
//! write to, before a fork, and base pages of which more has become.

use core::ops::Range;

use crate::register;
use crate::slices::SLICE;
use crate::unit::State;
use crate::window::{Holds, Window};

/// The windows whose pages a child may write to.
pub(crate) fn writable() -> impl Iterator<Item = &'static Window> {
    register::windows().filter(|window| window.holds != Holds::Text)
}

/// How much of a window is in use on hugetlb pages.
pub(crate) fn hugetlb_bytes(window: &Window) -> usize {
    let units = window.units().iter();
    let slices = units.map(|unit| match unit.load() {
        (state, used) if state.is_inherited() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// The runs of units of a window that are hugetlb pages, without those that
/// `wanted` leaves out.
pub(crate) fn hugetlb_where(
    window: &Window,
    wanted: impl Fn(usize) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0..0;
    let mut all = pieces(window, usize::MAX);
    core::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                rest = all.next()?.0;
            }
            let start = rest.clone().find(|unit| wanted(*unit)).unwrap_or(rest.end);
            let end = (start..rest.end).find(|unit| !wanted(*unit));
            let found = start..end.unwrap_or(rest.end);
            rest.start = found.end;
            if !found.is_empty() {
                return Some(found);
            }
        }
    })
}

/// All of them, in pieces of at most `piece` bytes, and at least one page; and what
/// they are. Each is found when the iterator gets there.
pub(crate) fn pieces(window: &Window, piece: usize) -> impl Iterator<Item = (Range<usize>, State)> {
    pieces_from(window, 0, piece)
}

/// The same from a unit on.
pub(crate) fn pieces_from(
    window: &Window,
    from: usize,
    piece: usize,
) -> impl Iterator<Item = (Range<usize>, State)> {
    let most = (piece / window.layout.unit).max(1);
    let mut at = from;
    core::iter::from_fn(move || {
        let last = window.units().len();
        let first = (at..last).find(|unit| inherited(window, *unit).is_some())?;
        let state = inherited(window, first)?;
        let units = match state {
            State::Big => window.page_of(first, state),
            _ => {
                let limit = first.saturating_add(most).min(last);
                let differs = |unit: &usize| inherited(window, *unit) != Some(state);
                first..(first..limit).find(differs).unwrap_or(limit)
            }
        };
        at = units.end;
        Some((units, state))
    })
}

/// The first run of units of base pages in use from `from` on, of at most `piece`
/// bytes, and at least one unit, that can be replaced.
pub(crate) fn base(window: &Window, from: usize, piece: usize) -> Option<Range<usize>> {
    let is_base = |unit: &usize| {
        let (state, used) = window.units()[*unit].load();
        state == State::Base && used > 0
    };
    let last = window.units().len();
    let first = (from..last).find(is_base)?;
    let limit = first + (piece / window.layout.unit).max(1);
    let units = first..limit.min(last);
    let end = units.clone().find(|unit| !is_base(unit));
    Some(first..end.unwrap_or(units.end))
}

/// What stands behind a unit, where it is a hugetlb page that a child inherits.
fn inherited(window: &Window, unit: usize) -> Option<State> {
    let (state, _) = window.units()[unit].load();
    state.is_inherited().then_some(state)
}
