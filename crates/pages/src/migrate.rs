//! Other pages in the place of memory that is in use, with the same contents.
//!
//! **Invariants.** There is no moment in which memory is not mapped or holds something
//! else: it is copied aside, then put in place by one system call. Whoever writes
//! meanwhile waits in the kernel ([`shield`]) or in a handler ([`write_freeze`]);
//! where neither can be had, and where a device may write, memory stays where it is.
//! What is made again because of it is made again by [`retry`]; a `SIGBUS` for want of
//! a page is answered by [`sigbus`].
//!
//! **Locks.** One freeze at a time. A unit is marked as changing while it is replaced.
//!
//! **At a fork.** These are the tools of [`fork`](crate::fork), which decides when;
//! here nothing knows of forks.

pub mod aside;
pub mod changes;
pub mod hollow;
pub(crate) mod in_place;
pub mod mbind;
pub mod off_pool;
pub mod replace;
pub mod retry;
pub(crate) mod runs;
pub mod shield;
pub mod sigbus;
pub mod write_freeze;
