//! The huge page pools (hugetlb): of the machine ([`pool`]), of each memory node
//! ([`node`]), and as requested on the kernel command line ([`boot`]).
//!
//! **Invariants.** A pool has one page size and exists as long as the kernel runs. Without
//! `nr_hugepages` there is no pool; another missing counter is 0, a missing overcommit `None`.

pub mod boot;
pub mod node;
pub mod pool;
