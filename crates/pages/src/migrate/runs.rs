//! What of our memory can be replaced: private hugetlb pages that a child may
//! write to, before a fork, and base pages of which more has become.

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};

/// The extents whose pages a child may write to.
pub(crate) fn writable() -> impl Iterator<Item = &'static Extent> {
    index::extents().filter(|extent| extent.holds != Holds::Text)
}

/// How much of an extent is in use on hugetlb pages, also where another thread is
/// changing that, or copies it for a child.
pub(crate) fn hugetlb_bytes(extent: &Extent) -> usize {
    let units = extent.units().iter();
    let slices = units.map(|unit| match unit.load_before() {
        (state, used) if state.is_inherited() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// The runs of units of an extent that are hugetlb pages, without those that
/// `wanted` leaves out.
pub(crate) fn hugetlb_where(
    extent: &Extent,
    wanted: impl Fn(usize) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0..0;
    let mut all = pieces(extent, usize::MAX);
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
pub(crate) fn pieces(extent: &Extent, piece: usize) -> impl Iterator<Item = (Range<usize>, State)> {
    pieces_from(extent, 0, piece)
}

/// The same from a unit on.
pub(crate) fn pieces_from(
    extent: &Extent,
    from: usize,
    piece: usize,
) -> impl Iterator<Item = (Range<usize>, State)> {
    let most = (piece / extent.layout.unit).max(1);
    let mut at = from;
    core::iter::from_fn(move || {
        let last = extent.units().len();
        let first = (at..last).find(|unit| inherited(extent, *unit).is_some())?;
        let state = inherited(extent, first)?;
        let units = match state {
            State::Big => extent.page_of(first, state),
            _ => {
                let limit = first.saturating_add(most).min(last);
                let differs = |unit: &usize| inherited(extent, *unit) != Some(state);
                first..(first..limit).find(differs).unwrap_or(limit)
            }
        };
        at = units.end;
        Some((units, state))
    })
}

/// What stands behind a unit, where it is a hugetlb page that a child inherits.
fn inherited(extent: &Extent, unit: usize) -> Option<State> {
    let (state, _) = extent.units()[unit].load();
    state.is_inherited().then_some(state)
}
