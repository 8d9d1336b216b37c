//! Replaces pages under memory in use, with the same contents.
//!
//! **Invariants.** The memory stays mapped and keeps its contents: they are copied to staging
//! memory, and one system call moves that into place. Writers wait in the kernel meanwhile
//! ([`shield`]). Without such protection, or if a device may write, the memory stays.
//!
//! **Locks.** A unit is busy while it is replaced.
//!
//! **At a fork.** [`fork`](crate::fork) uses these functions before a fork.

pub mod off_pool;
pub mod replace;
pub(crate) mod runs;
pub mod shield;
pub mod staging;
