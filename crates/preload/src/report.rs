//! What is told of a program: whether it has the huge pages that were required
//! ([`required`], before it begins), and the report at its [`end`].
//!
//! * [`extents`]: what is known by address; [`own_memory`]: what the kernel says;
//!   [`past_malloc`]: memory that the program has mapped past malloc and given back.
//! * [`report_file`]: where the report goes; [`shared_page`]: the page by which hugectl,
//!   which waits for the program, prints it.
//!
//! **Invariants.** A report says what the kernel says: what cannot be read is not in it.
//! That none can be made never keeps a program from ending. It takes memory of its own
//! ([`crate::rt::scratch`]), never the program's.
//!
//! **Locks.** None: one thread ends a process; numbers that hugectl reads are atomic.
//!
//! **At a fork.** The page stays the parent's. The file is shared, and appended to by one
//! call each.

pub(crate) mod end;
pub(crate) mod extents;
mod own_memory;
pub(crate) mod past_malloc;
pub(crate) mod report_file;
pub(crate) mod required;
pub(crate) mod shared_page;
