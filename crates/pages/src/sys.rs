//! System calls. Each keeps the thread's `errno` as it was: the caller gets
//! the error as a value, and the program we run in never sees it.

mod call;
mod dir;
mod file;
mod memory;
mod path;
mod policy;
mod process;
mod shm;
mod userfault;

pub use call::{Errno, Result, c_address, c_result, errno, set_errno, thread_name};
pub use dir::{Dir, Owner, Version, make_dir};
pub use file::{File, identity, inode, links, read_link, write};
pub use memory::{
    keep_in_memory, let_be_swapped, madvise, mmap, mprotect, mremap, munmap, name_memory,
};
pub use path::{FileSystem, file_system, may_use, memory_file, open_inherited, unlink};
pub use policy::{
    Nodes, Policy, allowed_nodes, mbind, move_pages, node_of, nodes_of, policy_of, thread_policy,
};
pub use process::{
    NoSignals, address_space_limit, futex_wait, futex_wake, getegid, geteuid, getpid, gettid,
    getuid, has_child, host, is_secure, now, page_size, random, set_blocked_signals, sleep,
    thp_disabled, unblock, yield_now,
};
pub use shm::{shm_remove, shm_size, shmat, shmdt, shmget};
pub use userfault::WriteProtection;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_this_process() {
        assert!(page_size().is_power_of_two());
        assert!(!is_secure());
        assert_eq!(getpid(), std::process::id());
        assert!(links(c"/proc/self/task").unwrap() >= 3);
        assert!(identity(0).is_some());
        assert!(identity(-1).is_none());
    }
}
