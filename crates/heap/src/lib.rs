//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, plus malloc on huge pages.
//!
//! * [`exports`]: the malloc family, one line each.
//! * `malloc`: what those lines call: mimalloc, with libc's manners;
//!   `large` and `growing` are for large blocks that grow, `foreign` for blocks
//!   of another malloc, `kept` for programs that must keep theirs, `owner` tells which is which.
//! * `arena`: mimalloc's memory, taken from windows of our own, by memory `nodes`.
//! * `figures`: the heap in figures, which `tell` writes; `tuning`: what a
//!   program may set, ask and do besides.
//! * `idle`: giving back what a quiet program has freed.
//! * `wrap` and `thread`: what mimalloc asks of the system itself.
#![no_std]

mod arena;
mod direct;
pub mod exports;
mod figures;
mod foreign;
mod growing;
mod idle;
mod kept;
mod large;
mod malloc;
mod mimalloc;
mod next;
mod nodes;
mod owner;
mod state;
mod tell;
mod thread;
pub mod tuning;
mod wrap;

/// Tells `libhugetlbfs`' part of this library that malloc is here too.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
