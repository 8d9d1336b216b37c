//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, plus malloc: mimalloc as it comes, with
//! our pages behind its arenas.
//!
//! Wings, from the ground up; each knows only those above it in this list.
//!
//! | module | what it is for |
//! |---|---|
//! | `host_malloc` | another malloc: one that the program keeps, blocks that are not ours |
//! | `mimalloc` | its C interface |
//! | `state` | how far the heap is |
//! | `idle` | purges a quiet heap |
//! | `arena` | mimalloc's memory, taken from our extents |
//! | `wrappers` | functions of libc that mimalloc calls by way of us |
//! | `malloc` | the malloc family; whose a block is |
//! | [`exports`] | the same by libc's names, one line each |
//! | [`dlopen`](mod@dlopen) | libraries that would have libc's malloc where the program has ours |
#![no_std]

mod arena;
pub mod dlopen;
pub mod exports;
mod host_malloc;
mod idle;
mod malloc;
mod mimalloc;
mod state;
mod wrappers;

/// Tells `libhugetlbfs`' part of this library that malloc is here too.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
