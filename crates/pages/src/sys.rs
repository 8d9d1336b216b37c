//! System calls, made directly and not by functions that others interpose.
//!
//! **Invariants.** Each keeps the thread's `errno` as it was: the caller gets the error
//! as a value, and the program we run in never sees it. Which are made under a filter of
//! the program's, `seccomp_filter` says: a call that the program does not make may
//! end it there.
//!
//! **Locks.** None.
//!
//! **At a fork.** What is kept of the process (its number, a limit that is raised for
//! one open) is found out again in the child.

mod call;
pub mod cast;
mod clock;
mod dir;
mod file;
mod futex;
mod limit;
mod memory;
mod path;
mod policy;
mod process;
mod seccomp_filter;
mod shm;
mod signal;
mod userfault;
mod valgrind;

pub use call::{
    Errno, Result, address, any_call, as_libc, c_address, c_result, errno, set_errno, thread_name,
};
pub use clock::{about_now, now, since_boot, wall_clock};
pub use dir::{Dir, Owner, Version, make_dir};
pub use file::{
    File, columns, device_in_memory, has_huge_blocks, identity, identity_of, inode, is_plain_file,
    links, note_first_thread, open_flags, read_at, read_link, socket_family, write, write_quietly,
};
#[cfg(test)]
pub(crate) use futex::futex_wait_shared;
pub use futex::{futex_requeue, futex_wait_for, futex_wake_shared};
pub use limit::{PastLimit, SpaceLimit, address_space_limit, data_limit, stack_limit, with_memory};
pub use memory::{
    MSEAL, PKEY_MPROTECT, free_memory, is_readable, is_readable_by_futex, keep_in_memory,
    knows_advice, let_be_swapped, madvise, mlock, mlock2, mlockall, mmap, mprotect, mremap,
    munlock, munlockall, munmap, name_memory, pkey_mprotect, remap_file_pages, written_by_kernel,
};
pub use path::{
    FileSystem, Gains, file_system, gains, is_gone, may_use, memory_file, open_inherited, unlink,
};
pub use policy::{
    Nodes, Policy, allowed_nodes, mbind, move_pages, node_of, nodes_of, policy_of, thread_policy,
};
pub use process::thread::{Function, begin_thread, wait_for_thread};
pub use process::{
    FAULTS, FORK, NoSignals, block_signals, exit, fill_at_random, futex_wait, futex_wake, getegid,
    geteuid, getpid, getppid, gettid, getuid, has_child, host, is_alone, is_secure, look_at,
    page_size, program_break, random, set_blocked_signals, sleep, thp_disabled, yield_now,
};
pub(crate) use seccomp_filter::{
    Call, bar, is_barred, is_filter_untried, note_files_pass, note_no_filter, note_untried_filter,
};
pub use seccomp_filter::{Filter, filter, note_failed_filter, note_own_filter};
pub use shm::{
    SYS_SHMAT, SYS_SHMCTL, SYS_SHMDT, SYS_SHMGET, ShmState, has_shm_ids, shm_control, shm_give_to,
    shm_remove, shm_state, shmat, shmdt, shmget,
};
pub use signal::{NoSignalStack, SignalStack, send_again, sigaltstack, signal_stack};
pub use userfault::{UFFDIO_MOVE, UFFDIO_REGISTER, UFFDIO_REGISTER_MODE_MISSING, WriteProtection};
pub use valgrind::{is_under_valgrind, tell_valgrind};

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
