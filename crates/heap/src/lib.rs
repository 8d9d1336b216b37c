//! `libhugetlbfs_heap.so`: `libhugetlbfs.so`, plus unmodified mimalloc with our pages behind its
//! arenas.
//!
//! Modules, from the ground up; each uses only those above it.
//!
//! | module | subject |
//! |---|---|
//! | `host_malloc` | another malloc that the program keeps; foreign blocks |
//! | `mimalloc` | mimalloc's C interface |
//! | `state` | state of the heap |
//! | `idle` | purges an idle heap |
//! | `arena` | mimalloc's arenas in our extents |
//! | `wrappers` | functions of libc that mimalloc calls through us |
//! | `malloc` | the malloc family; owners of blocks |
//! | `exports` | the malloc family by libc's names |
//! | [`dlopen`](mod@dlopen) | libraries that bind to libc's malloc |
#![no_std]

mod arena;
pub mod dlopen;
mod exports;
mod host_malloc;
mod idle;
mod malloc;
mod mimalloc;
mod state;
mod wrappers;

/// Tells `libhugetlbfs` that this library contains malloc.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
