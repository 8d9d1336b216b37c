//! Whose memory it is: all that we have handed out or changed.
//!
//! | what | where | by whom |
//! |---|---|---|
//! | extents of the heap and of the program's segments | [`crate::extent::index`] | the allocator, `crate::segment` |
//! | huge pages that the program asked for by name | [`crate::extent::index`], as regions | [`crate::registry::named::region`] |
//! | what it got in the place of such | [`crate::registry::named::fallback`] | the same |
//! | shared memory: mappings and attached System V segments | [`shared`] | [`crate::vmops`] |
//! | what of the program's segments comes from its file | [`own_file`] | `crate::segment` |
//! | System V segments that this process has made | [`sysv`] | the same |
//! | large mappings of the program's own, on transparent huge pages | [`anon`] | [`crate::vmops`] |
//! | where advice for these may have cut one mapping in two | [`borders`] | the same |
//! | small mappings of its own that are side by side | [`pieces`], [`rows`] | the same |
//! | what of all this the program has locked | [`mlocked`] | the same |
//!
//! **Invariants.** Nothing is populated, removed, moved or advised that is not entered
//! here as ours. What is shared with other processes cannot be replaced by other memory;
//! a [`witness`] tells whether there are any.
//!
//! **Locks.** Looks take none, so that a signal handler may look at any time. Who
//! changes an entry has a [`turn`](crate::rt::turn): no signal handler of this thread can
//! want one meanwhile.
//!
//! **At a fork.** It waits for whoever has a turn. The child has the same tables, and
//! shares with its parent what is shared; what it has locked is not.

use core::ops::Range;

use crate::extent::{index, mlocked};
use crate::registry::named::{change, fallback};

pub mod anon;
pub mod borders;
pub mod born;
pub mod gone;
pub mod named;
pub mod own_file;
pub mod pieces;
pub mod region;
pub mod rows;
pub mod shared;
pub mod sysv;
mod sysv_table;
pub mod witness;

/// Whether a range may hold memory of ours, of whichever kind.
pub fn meets(range: &Range<usize>) -> bool {
    shared::meets(range) || is_named(range) || index::meets(range)
}

/// Whether a range holds memory that was asked for by name.
pub fn is_named(range: &Range<usize>) -> bool {
    change::meets(range) || fallback::meets(range)
}

/// In the child of a fork: whoever had a turn did not come along.
pub fn in_child() {
    shared::forget_turn();
    mlocked::in_child();
}
