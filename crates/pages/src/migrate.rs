//! Other pages in the place of memory that is in use, with the same contents.
//!
//! **Invariants.** There is no moment in which memory is not mapped or holds something
//! else: it is copied aside, then put in place by one system call. Whoever writes
//! meanwhile waits in the kernel ([`shield`]); where that cannot be had, and where a device
//! may write, memory stays where it is.
//!
//! **Locks.** A unit is marked as changing while it is replaced.
//!
//! **At a fork.** These are the tools of [`fork`](crate::fork), which decides when;
//! here nothing knows of forks.

pub mod aside;
pub mod off_pool;
pub mod replace;
pub(crate) mod runs;
pub mod shield;
