//! Parsed kernel files, and queries about mapped memory.
//!
//! **Invariants.** Only [`populate`] and [`hugetlb_pool`] change memory. Unknown numbers are
//! `None`, except [`facts::threads`] (0) and [`facts::thp_size`] (a guess).
//!
//! **Locks.** None. Two threads may read the same file at the same time.
//!
//! **At a fork.** The child keeps cached values: they describe the machine or inherited limits.

pub mod cgroup;
pub mod constraints;
pub mod dma_users;
pub mod facts;
pub mod file_mapping;
pub mod hugetlb_pool;
pub mod loaded;
pub mod pagemap;
pub mod populate;
pub mod process;
pub mod procfile;
