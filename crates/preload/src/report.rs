//! Reports on a program: `--require` before it begins ([`required`]), and its memory at the
//! [`end`].
//!
//! * [`extents`]: memory known by address; [`own_memory`]: the kernel's figures.
//! * [`report_file`]: the report's file; [`shared_page`]: the page through which hugectl prints it.
//!
//! **Invariants.** Figures come from the kernel. A failure never keeps a program from ending.
//! Reports use memory of their own ([`crate::rt::scratch`]).
//!
//! **Locks.** None: one thread ends a process; the shared page is atomic.
//!
//! **At a fork.** The page stays the parent's. Parent and child append to the same file, each by
//! one write.

pub(crate) mod end;
pub(crate) mod extents;
mod own_memory;
pub(crate) mod report_file;
pub(crate) mod required;
pub(crate) mod shared_page;
