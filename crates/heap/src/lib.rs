//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, plus malloc on huge pages.
//!
//! * [`exports`]: the malloc family, one line each; [`names`]: glibc's second ones.
//! * `malloc`: what those lines call: mimalloc, with libc's manners;
//!   `large` and `growing` are for large blocks that grow, `foreign` for blocks
//!   of another malloc, `kept` for programs that must keep theirs, `owner` tells which is which.
//! * [`mod@dlopen`]: libraries that would have libc's malloc where the program has
//!   ours; `rebind` has them call `plugin`, as does `namespace` with those of `dlmopen`.
//! * `arena`: mimalloc's memory, taken from extents of our own, by memory `nodes`.
//! * `room`: whether a large block may be had at all.
//! * `deep`: what takes much of the stack, done elsewhere.
//! * `figures`: the heap in figures, which `tell` writes; `tuning`: what a
//!   program may set, ask and do besides.
//! * `idle`: giving back what a quiet program has freed; `before`: what a growing
//!   one has.
//! * `wrap` and `thread`: what mimalloc asks of the system itself.
#![no_std]

mod arena;
mod asked;
mod before;
mod deep;
mod direct;
pub mod dlopen;
pub mod exports;
mod figures;
mod foreign;
mod growing;
mod idle;
mod kept;
mod large;
mod malloc;
mod mapped;
mod mimalloc;
pub mod names;
mod namespace;
mod next;
mod nodes;
mod owner;
mod plugin;
mod rebind;
mod room;
mod state;
mod tell;
mod thread;
pub mod tuning;
mod wrap;

/// Tells `libhugetlbfs`' part of this library that malloc is here too.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
