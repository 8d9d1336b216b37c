//! `libhugetlbfs.so`: shared memory and segments on huge pages, in programs as
//! they are, and the C interface for programs that ask for huge pages.
//!
//! * [`exports`]: the functions of libc that are replaced, a few lines each;
//!   `next` are the functions that they stand before.
//! * [`kept`]: programs whose malloc must stay.
//! * `start` and `end`: what happens when a program starts and ends.
//! * `segments`: the program's code, data and bss; `loaded`: what the loader
//!   knows of them; `perf_map`: a list of their functions for perf.
//! * `region`: the shared memory that was handed out; `map` hands it out,
//!   `change` does what the program then asks of it, `own` what it asks of
//!   its heap, `policy` on which memory nodes either is to lie; `segment` is System V shared memory.
//! * [`api`]: the C interface; `granted` does what the program then asks of
//!   the memory that it got by it.
//!
//! `libhugetlbfs_heap.so` is built over this library and holds all of it.
#![no_std]

mod accounts;
pub mod api;
mod change;
mod end;
pub mod exports;
mod granted;
pub mod kept;
mod loaded;
mod map;
mod marker;
mod next;
mod objects;
mod own;
mod perf_map;
mod policy;
mod range;
mod region;
mod scratch;
mod segment;
mod segments;
mod signals;
mod start;
