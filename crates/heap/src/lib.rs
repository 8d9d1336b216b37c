//! `libhugetlbfs_heap.so`: all of `libhugetlbfs.so`, plus malloc on huge pages.
//!
//! Wings, from the ground up; each knows only those above it in this list, and begins
//! with a page of text.
//!
//! | wing | what it is for |
//! |---|---|
//! | `host_malloc` | another malloc: one that must stay, blocks that are not ours |
//! | `mimalloc` | its interface; its memory nodes, how far it is, which pages it has |
//! | `large_blocks` | blocks with extents of their own: mapped, and such as grow |
//! | `hooks` | what mimalloc calls: for memory, locks, stack, and at a thread's end |
//! | `purge` | what is free goes back: of a quiet heap, and of one that is to grow |
//! | `arena` | mimalloc's memory, taken from extents of our own |
//! | `stats` | the heap in figures, and as glibc writes them |
//! | `malloc` | the malloc family: mimalloc, with libc's manners; whose a block is |
//! | [`exports`] | the same by libc's names, one line each |
//! | [`dlopen`](mod@dlopen) | libraries that would have libc's malloc where the program has ours |
#![no_std]

mod arena;
pub mod dlopen;
pub mod exports;
mod hooks;
mod host_malloc;
mod large_blocks;
mod malloc;
mod mimalloc;
mod purge;
mod stats;

/// Tells `libhugetlbfs`' part of this library that malloc is here too.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a symbol that the other part looks for")]
static hugetools_heap: u8 = 1;
