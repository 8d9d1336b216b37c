//! Tables of the memory that we mapped or advised. The program's later calls look it up here.
//!
//! | memory | table | filled by |
//! |---|---|---|
//! | heap, segments on pool pages | [`crate::extent::index`] | allocator, `crate::segment` |
//! | shared mappings, System V segments | [`shared`] | [`crate::vmops`] |
//! | large private mappings on transparent huge pages | [`anon`] | [`crate::vmops`] |
//!
//! **Invariants.** The program's calls on memory outside of these tables go to the kernel
//! unchanged. Memory shared with other processes is never replaced.
//!
//! **Locks.** [`shared`] has a lock, taken through a [`table_guard`](crate::rt::table_guard).
//! [`anon`] and [`overlaps`] take no lock.
//!
//! **At a fork.** The fork waits for changes of tables, except [`anon`]. The child has the same
//! tables and shared memory.

use core::ops::Range;

use crate::extent::index;

pub mod anon;
pub mod region;
pub mod shared;

/// Whether a range may overlap an extent or shared memory on pool pages.
pub fn overlaps(range: &Range<usize>) -> bool {
    shared::overlaps(range) || index::overlaps(range)
}
