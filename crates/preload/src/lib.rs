//! `libhugetlbfs.so`: shared memory and segments on huge pages, in programs as
//! they are, and the C interface for programs that ask for huge pages.
//!
//! Wings, from the ground up; each knows only those above it in this list, and begins
//! with a page of text.
//!
//! | module | what it is for |
//! |---|---|
//! | `rt` | the compiler's functions, which copy of us is at work, memory for a report |
//! | [`loader`] | the program and its libraries, as the dynamic loader knows them |
//! | `next` | the functions that ours stand before: libc's, as a rule |
//! | `sysv_shm` | System V shared memory |
//! | [`api`] | the C interface |
//! | `program_segments` | the program's code, data and bss, its libraries' code |
//! | `report` | what was required, before the program begins; the report at its end |
//! | [`process`] | forks, filters of system calls, another root, another program |
//! | [`exports`] | the functions of libc that are replaced, a few lines each |
//! | [`dlopen`](mod@dlopen) | libraries that would bind libc's functions past ours |
//! | `start` | what happens when a program starts |
//!
//! What else is asked of memory is answered by `hugetools_pages::vmops`.
//!
//! `libhugetlbfs_heap.so` is built over this library and holds all of it.
#![no_std]

pub mod api;
pub mod dlopen;
pub mod exports;
pub mod loader;
mod next;
pub mod process;
mod program_segments;
mod report;
mod rt;
mod start;
mod sysv_shm;
