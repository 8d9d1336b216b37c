//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, plus malloc on huge pages.
//!
//! * [`exports`]: the malloc family, one line each.
//! * `malloc`: what those lines call: mimalloc, with libc's manners;
//!   `foreign` is for blocks that it does not know.
//! * `arena`: mimalloc's memory, taken from windows of our own.
//! * `idle`: giving back what a quiet program has freed.
//! * `wrap` and `thread`: what mimalloc asks of the system itself.
#![no_std]

extern crate hugetlbfs as _;

mod arena;
pub mod exports;
mod foreign;
mod idle;
mod malloc;
mod mimalloc;
mod thread;
mod wrap;

/// Tells `libhugetlbfs`' part of this library that malloc is here too.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
