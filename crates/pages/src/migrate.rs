//! Moves live memory to other pages, at the same address.
//!
//! **Invariants.** The memory stays mapped and keeps its contents: these are copied to staging
//! memory, which one system call moves into place. Writers wait in the kernel meanwhile
//! ([`shield`]). Without such protection, or if a device may write, the memory isn't moved.
//!
//! **Locks.** A unit is busy while it is replaced.
//!
//! **At a fork.** [`fork`](crate::fork) uses these functions before a fork.

pub mod off_pool;
pub mod replace;
pub(crate) mod runs;
pub mod shield;
pub mod staging;
