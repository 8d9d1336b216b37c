//! Memory as a whole, whatever its pages: its figures ([`meminfo`], [`vmstat`]), the page
//! allocator ([`zone`], [`buddy`]), [`swap`], settings ([`sysctl`], [`userfault`]).
//!
//! **Invariants.** Each value is the kernel's own, read once; what it does not tell, or
//! not this user, is `None`.

pub mod buddy;
pub mod meminfo;
pub mod swap;
pub mod sysctl;
pub mod userfault;
pub mod vmstat;
pub mod zone;
