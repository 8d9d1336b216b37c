//! Moves live memory to other pages, at the same address.
//!
//! **Invariants.** The memory stays mapped and keeps its contents: these are copied to staging
//! memory, which one system call moves into place. Other threads that write meanwhile wait in the
//! kernel ([`shield`]); if they can't be stopped, the memory isn't moved. Nor is it moved for a
//! fork or an operation on part of a page if a device may write.
//!
//! **Locks.** A unit is busy while it is replaced.
//!
//! **At a fork.** [`fork`](crate::fork) uses these functions before a fork.

pub mod off_pool;
pub mod replace;
pub(crate) mod runs;
pub mod shield;
pub mod staging;
