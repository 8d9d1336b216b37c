//! Parsed kernel files, and queries about mapped memory.
//!
//! **Invariants.** Nothing here changes memory, except [`populate`]. "Unknown" is a value of
//! its own, never 0 or the largest number.
//!
//! **Locks.** None: two threads may read the same file.
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
