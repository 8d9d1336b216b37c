//! Pages that a pool has again.

use crate::extent::unit::State;
use crate::extent::{Extent, Holds};
use crate::policy::pool_backoff::{BACKOFF, BIG_BACKOFF};
use crate::policy::quota;

/// Gives back what stood behind a part of an extent, in this state, and is in
/// the pool again: it may be asked again. Of text it is not known whether it was
/// shared, so that it stays counted.
pub(crate) fn give_units(extent: &Extent, state: State, len: usize) {
    if !state.is_hugetlb() {
        return;
    }
    if matches!(extent.holds, Holds::Heap | Holds::Data) {
        quota::give(extent.page_size(state), len);
    }
    match state {
        State::Big => BIG_BACKOFF.gave_back(),
        _ => BACKOFF.gave_back(),
    }
}
