//! Parsed kernel files, and queries about mapped memory.
//!
//! **Invariants.** Nothing here changes memory, except [`populate`]. An unknown number is never
//! returned as a plausible one.
//!
//! **Locks.** None: two threads may read a file at the same time.
//!
//! **At a fork.** Cached values describe the machine and hold in the child; values of the
//! process are read each time.

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
