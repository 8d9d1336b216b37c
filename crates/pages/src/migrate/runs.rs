//! Finds private hugetlb pages that a forked child could write.

use core::ops::Range;

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};

/// The extents that may have private hugetlb pages.
pub(crate) fn writable() -> impl Iterator<Item = &'static Extent> {
    index::extents().filter(|extent| extent.holds != Holds::Text)
}

/// Bytes in use on private hugetlb pages.
pub(crate) fn total_bytes() -> usize {
    writable().map(hugetlb_bytes).sum()
}

/// Bytes of an extent in use on hugetlb pages, including busy units.
pub(crate) fn hugetlb_bytes(extent: &Extent) -> usize {
    let units = extent.units().iter();
    let slices = units.map(|unit| match unit.load_before() {
        (state, used) if state.is_hugetlb() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// The hugetlb pages of an extent, in runs of one state and at most `piece` bytes, but at least
/// one page.
pub(crate) fn pieces(extent: &Extent, piece: usize) -> impl Iterator<Item = (Range<usize>, State)> {
    let max_units = (piece / extent.layout.unit).max(1);
    let mut at = 0;
    core::iter::from_fn(move || {
        let last = extent.units().len();
        let first = (at..last).find(|unit| hugetlb_state(extent, *unit).is_some())?;
        let state = hugetlb_state(extent, first)?;
        let units = match state {
            State::Big => extent.units_of_page(first, state),
            _ => {
                let limit = first.saturating_add(max_units).min(last);
                let differs = |unit: &usize| hugetlb_state(extent, *unit) != Some(state);
                first..(first..limit).find(differs).unwrap_or(limit)
            }
        };
        at = units.end;
        Some((units, state))
    })
}

/// The state of a unit; `None` unless it is on hugetlb pages.
fn hugetlb_state(extent: &Extent, unit: usize) -> Option<State> {
    let (state, _) = extent.units()[unit].load();
    state.is_hugetlb().then_some(state)
}
