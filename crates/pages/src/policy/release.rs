//! Accounts for pages that return to a pool.

use crate::extent::unit::State;
use crate::extent::{Extent, Holds};
use crate::policy::pool_backoff::{BACKOFF, BIG_BACKOFF};
use crate::policy::quota;

/// Counts a part of an extent as returned to its pool, which may be asked again. Code stays
/// counted: it may have been shared.
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
