//! Moves live memory to other pages, at the same address.
//!
//! **Invariants.** The memory stays mapped and keeps its contents: they are copied to staging
//! memory, which one `mremap(2)` moves into place. Other writers block in the kernel meanwhile
//! ([`shield`]). If that is impossible, the memory isn't moved. If a device may write, nothing moves
//! off a pool.
//!
//! **Locks.** A unit is busy while it is replaced.
//!
//! **At a fork.** [`fork`](crate::fork) first moves private hugetlb memory off the pools.

pub mod off_pool;
pub mod replace;
pub(crate) mod runs;
pub mod shield;
pub mod staging;
