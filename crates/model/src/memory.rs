//! System-wide memory: counters ([`meminfo`], [`vmstat`]), the page allocator ([`zone`],
//! [`buddy`]), [`swap`], settings ([`sysctl`], [`userfault`]).
//!
//! **Invariants.** Each value is read once from the kernel. A setting that the kernel lacks
//! is `None`; `MemTotal` and the fields of a zone are 0 if they are missing.

pub mod buddy;
pub mod meminfo;
pub mod swap;
pub mod sysctl;
pub mod userfault;
pub mod vmstat;
pub mod zone;
