//! Private hugetlb pages that a child may write to.

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
        (state, used) if state.is_hugetlb() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// The hugetlb pages of an extent that a child inherits, in pieces of at most `piece` bytes, and at least one page; and what
/// they are. Each is found when the iterator gets there.
pub(crate) fn pieces(extent: &Extent, piece: usize) -> impl Iterator<Item = (Range<usize>, State)> {
    let most = (piece / extent.layout.unit).max(1);
    let mut at = 0;
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
    state.is_hugetlb().then_some(state)
}
