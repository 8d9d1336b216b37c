//! `libhugetlbfs.so`: shared memory and segments on huge pages, in programs as
//! they are, and the C interface for programs that ask for huge pages.
//!
//! * [`exports`]: the functions of libc that are replaced, a few lines each;
//!   `next` are the functions that they stand before.
//! * [`exports_reads`]: those that fill buffers by system calls (`reads`), and name
//!   stacks (`stacks`) or handlers of forks (`atfork`); `following` finds what they
//!   stand before.
//! * [`kept`]: programs whose malloc must stay.
//! * [`confine`]: programs that filter their own system calls; [`new_root`]:
//!   those that change their root, and what is kept of the `old_root` for the report.
//! * `start` and `end`: what happens when a program starts and ends, what is
//!   `staying` behind it, and what it had `past_malloc`; [`exports_ends`]: ends of
//!   other kinds; `watched`: who reports on those that nothing of ours sees; `rival`:
//!   another library of this kind.
//! * `program_segments`: the program's code, data and bss; `required`: what of it must be on
//!   huge pages; [`loaded`]: what the loader
//!   knows of them; [`definitions`]: their symbols; `perf_map`: a list of their functions for perf.
//! * [`syscall`]: calls by their numbers.
//! * `sysv_shm`: System V shared memory. What else is asked of memory is
//!   answered by `hugetools_pages::vmops`.
//! * [`api`]: the C interface.
//!
//! `libhugetlbfs_heap.so` is built over this library and holds all of it.
#![no_std]

mod accounts;
pub mod api;
mod atfork;
mod clones;
pub mod confine;
pub mod definitions;
mod end;
pub mod exports;
pub mod exports_ends;
pub mod exports_reads;
pub mod exports_signals;
mod following;
mod gains;
pub mod kept;
pub mod loaded;
mod locks;
mod marker;
mod masks;
mod mem;
pub mod new_root;
mod next;
mod objects;
mod old_root;
mod past_malloc;
mod perf_map;
mod program_segments;
mod reads;
mod report_file;
mod required;
mod rival;
mod scratch;
mod signals;
mod slots;
mod stacks;
mod start;
mod staying;
pub mod syscall;
mod sysv_shm;
mod watched;
