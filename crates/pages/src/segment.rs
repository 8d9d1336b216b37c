//! Segments of a program and its libraries on huge pages, in place: code, data
//! and bss of a program that runs already, a moment before it begins.
//!
//! * [`load`]: what the program headers say; [`divide`]: which huge pages fit;
//!   [`wish`]: in which order they are tried.
//! * [`text`]: what is never written; first by [`own_pages`], those of the
//!   file itself, then by a copy, which all processes may [`share`], or which is
//!   [`unshared`]. [`data`]: what is.
//! * [`contents`]: what of it must be copied; [`file_mapping`](crate::kernel::file_mapping): what the kernel says
//!   the result; [`got`] and [`why`]: what became of it, and what kept it from
//!   more; [`symbols`]: the functions in it, by name, for perf.
//! * [`stack`]: stacks, which are advised where they are.
//!
//! **Invariants.** The copy is made aside and takes the place of the original in one
//! system call, so that there is no moment without it. A failure before leaves the
//! program on its own pages. What was read-only stays so. A segment that is not as the
//! loader has mapped it, [`loaded`](crate::kernel::loaded), stays where it is.
//!
//! **Locks.** None: one thread runs, or what is written is left alone.
//!
//! **At a fork.** Data and bss are extents, and go the way of the heap; text is never
//! written, and shared.

pub mod contents;
pub mod data;
pub mod divide;
pub mod got;
pub mod load;
pub mod own_pages;
pub mod pool_file;
pub mod share;
pub mod stack;
pub mod symbols;
pub mod tail;
pub mod text;
pub mod unshared;
pub mod why;
pub mod wish;
