//! What the kernel says: its files, read on the stack, and what a system call tells
//! of memory that is mapped.
//!
//! **Invariants.** Bytes in, values out: nothing here changes memory, but
//! [`populate`], which asks for pages. "Cannot be told" is a value of its own, never
//! 0 and never the largest number; each caller says what it does then.
//!
//! **Locks.** None. What is found out twice at once is found out twice.
//!
//! **At a fork.** What is kept of the machine stays true in the child; what is read
//! of the process is read again.

pub mod cgroup;
pub mod constraints;
pub mod dma_users;
pub mod facts;
pub mod file_mapping;
pub mod hugetlb_pool;
pub mod kin;
pub mod loaded;
pub mod nodes;
pub mod pagemap;
pub mod populate;
pub mod procfile;
