//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, and unmodified mimalloc with its arenas in our
//! extents (`hugetools_pages::extent`).
//!
//! Modules, lowest layer first; each uses only those listed before it.
//!
//! | module | subject |
//! |---|---|
//! | `host_malloc` | the replaced malloc, mostly libc's; serves all calls if the program keeps it |
//! | `mimalloc` | mimalloc's C interface |
//! | `owner` | tells mimalloc's blocks from the replaced malloc's |
//! | `state` | state of the heap: ready, purge due |
//! | `idle` | purges an idle heap |
//! | `arena` | mimalloc's arenas in our extents |
//! | `wrappers` | functions of libc that mimalloc calls through us |
//! | `malloc` | the malloc family |
//! | `exports` | the exported functions: malloc family, C++ operators |
//! | `dlopen` | redefines libc's malloc as ours for `RTLD_DEEPBIND` |
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

/// Marks a library that contains malloc, for `rt::marker` of `libhugetlbfs`.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that `rt/marker.s` refers to")]
static hugetools_heap: u8 = 1;
