//! All memory that we handed out or changed.
//!
//! | memory | table | filled by |
//! |---|---|---|
//! | heap and segments | [`crate::extent::index`] | allocator, `crate::segment` |
//! | shared mappings, System V segments | [`shared`] | [`crate::vmops`] |
//! | large private mappings on transparent huge pages | [`anon`] | [`crate::vmops`] |
//! | locked ranges | [`crate::extent::mlocked`] | [`crate::vmops`] |
//!
//! **Invariants.** Only memory in these tables is populated, removed, moved or advised.
//! Memory shared with other processes is never replaced.
//!
//! **Locks.** Readers take none. Writers hold a [`table_guard`](crate::rt::table_guard), which
//! blocks signals; [`anon`] needs none.
//!
//! **At a fork.** The fork waits for writers. The child has the same tables and shared
//! memory, but no locked memory.

use core::ops::Range;

use crate::extent::index;

pub mod anon;
pub mod region;
pub mod shared;

/// Whether a range may overlap memory of ours.
pub fn overlaps(range: &Range<usize>) -> bool {
    shared::overlaps(range) || index::overlaps(range)
}
