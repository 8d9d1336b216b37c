//! Pages that a pool has again.

use crate::luck::{BIG_LUCK, LUCK};
use crate::quota;
use crate::unit::State;
use crate::window::{Holds, Window};

/// Gives back what stood behind a part of a window, in this state, and is in
/// the pool again: it may be asked again. Of text it is not known whether it was
/// shared, so that it stays counted.
pub(crate) fn give_units(window: &Window, state: State, len: usize) {
    if !state.is_hugetlb() {
        return;
    }
    if matches!(window.holds, Holds::Heap | Holds::Data) {
        quota::give(window.page_size(state), len);
    }
    match state {
        State::Big => BIG_LUCK.gave_back(),
        _ => LUCK.gave_back(),
    }
}
