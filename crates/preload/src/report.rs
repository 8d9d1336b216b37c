//! What is reported about a program: whether `--require` is met ([`required`], before it begins),
//! and the report at its [`end`].
//!
//! * [`extents`]: memory known by address; [`own_memory`]: the kernel's figures;
//!   [`past_malloc`]: memory that the program mapped past malloc.
//! * [`report_file`]: the report's file; [`shared_page`]: the page through which hugectl prints it.
//!
//! **Invariants.** A report has the kernel's figures. A failure never keeps a program from ending.
//! It uses memory of its own ([`crate::rt::scratch`]).
//!
//! **Locks.** None: one thread ends a process; the shared page is atomic.
//!
//! **At a fork.** The page stays the parent's. The file is shared, and appended to by one call.

pub(crate) mod end;
pub(crate) mod extents;
mod own_memory;
pub(crate) mod past_malloc;
pub(crate) mod report_file;
pub(crate) mod required;
pub(crate) mod shared_page;
