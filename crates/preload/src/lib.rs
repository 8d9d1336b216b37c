//! `libhugetlbfs.so`: shared memory and segments on huge pages for unmodified programs, and the
//! C interface.
//!
//! Modules, from the ground up; each uses only those above it.
//!
//! | module | subject |
//! |---|---|
//! | `rt` | functions that the compiler calls, the first copy's marker, memory for reports |
//! | [`loader`] | loaded objects and their symbols |
//! | [`next`] | the next definitions of replaced functions, mostly libc's |
//! | `sysv_shm` | System V shared memory |
//! | [`unmap_notice`] | hooks of `madvise` |
//! | [`api`] | the C interface |
//! | `program_segments` | code, data and bss of the program, code of its libraries |
//! | `report` | `--require` before the program begins; the report at its end |
//! | `process` | forks, threads, seccomp filters |
//! | `exports` | replaced functions of libc |
//! | `dlopen` | libraries opened with `RTLD_DEEPBIND` |
//! | `start` | the constructor |
//!
//! `hugetools_pages::vmops` implements the memory calls. `libhugetlbfs_heap.so` contains all of
//! this library.
#![no_std]

pub mod api;
mod dlopen;
mod exports;
pub mod loader;
pub mod next;
mod process;
mod program_segments;
mod report;
mod rt;
mod start;
mod sysv_shm;
pub mod unmap_notice;
