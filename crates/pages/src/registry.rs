//! Whose memory it is: all that we have handed out or changed.
//!
//! | what | where | by whom |
//! |---|---|---|
//! | extents of the heap and of the program's segments | [`crate::extent::index`] | the allocator, `crate::segment` |
//! | shared memory: mappings and attached System V segments | [`shared`] | [`crate::vmops`] |
//! | large mappings of the program's own, on transparent huge pages | [`anon`] | [`crate::vmops`] |
//! | what of all this the program has locked | [`mlocked`] | the same |
//!
//! **Invariants.** Nothing is populated, removed, moved or advised that is not entered
//! here as ours. What is shared with other processes cannot be replaced by other memory.
//!
//! **Locks.** Looks take none, so that a signal handler may look at any time. Who
//! changes an entry has a [`turn`](crate::rt::turn): no signal handler of this thread can
//! want one meanwhile.
//!
//! **At a fork.** It waits for whoever has a turn. The child has the same tables, and
//! shares with its parent what is shared; what it has locked is not.

use core::ops::Range;

use crate::extent::{index, mlocked};

pub mod anon;
pub mod region;
pub mod shared;

/// Whether a range may hold memory of ours, of whichever kind.
pub fn meets(range: &Range<usize>) -> bool {
    shared::meets(range) || index::meets(range)
}

/// In the child of a fork: whoever had a turn did not come along.
pub fn in_child() {
    shared::forget_turn();
    mlocked::in_child();
}
