//! The huge page pools (hugetlb): of the machine ([`pool`]), of each memory node
//! ([`node`]), and as requested on the kernel command line ([`boot`]).
//!
//! **Invariants.** A pool has one page size and exists as long as the kernel runs. A
//! value that the kernel doesn't export is `None`, never 0.

pub mod boot;
pub mod node;
pub mod pool;
