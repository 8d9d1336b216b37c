//! Whose memory it is: all that we have handed out or changed.
//!
//! | what | where | by whom |
//! |---|---|---|
//! | windows of the heap and of the program's segments | [`crate::register`] | the allocator, `crate::segment` |
//! | huge pages that the program asked for by name | [`crate::register`], as regions | [`crate::grant`] |
//! | what it got in the place of such | [`crate::plain`] | the same |
//! | shared memory: mappings and attached System V segments | [`shared`] | [`crate::vmops`] |
//! | System V segments that this process has made | [`segments`] | the same |
//! | what of all this the program has locked | [`locked`] | the same |
//!
//! Nothing is populated, removed, moved or advised that is not entered here as
//! ours. What is shared with other processes cannot be replaced by other memory;
//! a [`witness`] tells whether there are any.
//!
//! Looks are free of locks, so that a signal handler may look at any time. Who
//! changes an entry has a [`turn`]: no signal handler of this thread can want
//! one meanwhile, and a fork waits for its end.

use core::ops::Range;

use crate::{grant, plain, register};

pub mod born;
pub mod gone;
pub mod locked;
pub mod region;
pub mod segments;
pub mod shared;
pub mod turn;
pub mod witness;

/// Whether a range may hold memory of ours, of whichever kind.
pub fn meets(range: &Range<usize>) -> bool {
    shared::meets(range) || is_named(range) || register::meets(range)
}

/// Whether a range holds memory that was asked for by name.
pub fn is_named(range: &Range<usize>) -> bool {
    grant::change::meets(range) || plain::meets(range)
}

/// In the child of a fork: whoever had a turn did not come along.
pub fn in_child() {
    shared::forget_turn();
    locked::in_child();
}
