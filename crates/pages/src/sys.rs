//! System calls. Each keeps the thread's `errno` as it was: the caller gets
//! the error as a value, and the program we run in never sees it.

mod call;
mod file;
mod memory;
mod process;
mod shm;

pub use call::{Errno, Result, c_address, c_result, set_errno, thread_name};
pub use file::{File, identity, inode, links, read_link, write};
pub use memory::{madvise, mbind, mmap, mprotect, mremap, munmap, name_memory, policy_mode};
pub use process::{
    NoSignals, address_space_limit, futex_wait, futex_wake, getegid, getpid, is_secure, now,
    page_size, random, thp_disabled, yield_now,
};
pub use shm::{shm_remove, shm_size, shmat, shmdt, shmget};

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
