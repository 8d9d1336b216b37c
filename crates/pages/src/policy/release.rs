//! Accounts for pages that return to a pool.

use crate::extent::unit::State;
use crate::extent::{Extent, Holds};
use crate::policy::pool_backoff::{BACKOFF, BIG_BACKOFF};
use crate::policy::quota;

/// Gives a part of an extent back to the quota and ends its pool's backoff. Code isn't given back:
/// a shared copy was never counted.
pub(crate) fn give_units(extent: &Extent, state: State, len: usize) {
    if !state.is_hugetlb() {
        return;
    }
    if matches!(extent.holds, Holds::Heap | Holds::Data) {
        quota::give(extent.page_size(state), len);
    }
    match state {
        State::Big => BIG_BACKOFF.end(),
        _ => BACKOFF.end(),
    }
}
