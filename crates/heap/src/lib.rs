//! `libhugetlbfs_heap.so`: `libhugetlbfs.so`, plus unmodified mimalloc, whose arenas lie in our
//! extents.
//!
//! Modules, from the ground up; each uses only those above it.
//!
//! | module | subject |
//! |---|---|
//! | `host_malloc` | the other malloc: the program's own, if it stays, or libc's |
//! | `mimalloc` | mimalloc's C interface |
//! | `owner` | owners of blocks |
//! | `state` | state of the heap |
//! | `idle` | purges an idle heap |
//! | `arena` | mimalloc's arenas in our extents |
//! | `wrappers` | functions of libc that mimalloc calls through us |
//! | `malloc` | the malloc family |
//! | `exports` | the exported functions: malloc family, C++ operators |
//! | `dlopen` | code that takes malloc from libc |
#![no_std]

mod arena;
mod dlopen;
mod exports;
mod host_malloc;
mod idle;
mod malloc;
mod mimalloc;
mod owner;
mod state;
mod wrappers;

/// Tells the other part of this library that malloc is here (`rt::marker`).
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that `rt/marker.s` refers to")]
static hugetools_heap: u8 = 1;
