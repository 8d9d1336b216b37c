//! The pools of huge pages (hugetlb): of the machine ([`pool`]) and of each of its memory
//! nodes ([`node`]), and what the kernel's command line asks for ([`boot`]).
//!
//! **Invariants.** A pool has one size of pages, and is there as long as the kernel runs.
//! What a kernel has no file for is `None`, never 0.

pub mod boot;
pub mod node;
pub mod pool;
