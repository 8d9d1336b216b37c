//! System calls made directly, since libc's functions may be interposed.
//!
//! **Invariants.** Errors are values; only functions that return C results set `errno`. Under a
//! seccomp filter, `seccomp_filter` decides which calls are made.
//!
//! **Locks.** None.
//!
//! **At a fork.** Only the state of seccomp filters is cached, which a child inherits.

mod call;
pub mod cast;
mod clock;
mod dir;
mod file;
mod limit;
mod memory;
mod mempolicy;
mod move_fault;
mod path;
mod process;
mod seccomp_filter;
mod shm;
mod userfault;
mod valgrind;

pub use call::{
    Errno, Result, c_address, c_result, c_syscall, errno, mmap_result, set_errno, thread_key,
};
pub use clock::{coarse_now, now, since_boot, wall_clock};
pub use dir::{Dir, DirAccess, FileVersion, make_dir};
pub use file::{
    File, identity, identity_of, inode, is_dev_zero, is_file_or_memory_device, link_count,
    open_flags, read_at, read_link, tmpfs_device, write, write_quietly,
};
pub use limit::{SpaceLimit, address_space_limit, data_limit, stack_limit};
pub use memory::{
    free_memory, madvise, map_new, mincore, mlock, mlock2, mlockall, mmap, mprotect, mremap,
    munlock, munlockall, munmap, name_memory, pkey_mprotect, probe_write, supports_advice,
};
pub use mempolicy::{mbind, page_node, thread_policy};
pub use move_fault::{MoveFault, UffdEvent, allow_all_cpus, unshare_files_except};
pub use path::{FileSystem, file_system, may_use, memfd_create, open_inherited, unlink};
pub use process::{
    FAULT_SIGNALS, NoSignals, block_signals, exit, faulted_bytes, futex_wait, futex_wait_for,
    futex_wake, getegid, geteuid, getpid, getppid, getuid, has_child, has_one_thread, host_name,
    is_secure, page_size, probe_read, program_break, set_blocked_signals, sleep, thp_disabled,
    yield_now,
};
pub(crate) use seccomp_filter::{
    Call, is_filter_untested, is_rejected, note_memfd_allowed, note_no_filter, note_rejected,
    note_untested_filter,
};
pub use seccomp_filter::{Filter, filter, note_failed_filter, note_own_filter};
pub use shm::{ShmState, shm_remove, shm_state, shmat, shmdt, shmget};
pub use userfault::WriteProtection;
pub use valgrind::is_under_valgrind;
