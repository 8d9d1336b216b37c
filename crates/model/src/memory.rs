//! System-wide memory: counters ([`meminfo`], [`vmstat`]), the page allocator ([`zone`],
//! [`buddy`]), [`swap`], settings ([`sysctl`], [`userfault`]).
//!
//! **Invariants.** Each value is read once from the kernel. A value that the kernel
//! doesn't export, or not to this user, is `None`.

pub mod buddy;
pub mod meminfo;
pub mod swap;
pub mod sysctl;
pub mod userfault;
pub mod vmstat;
pub mod zone;
