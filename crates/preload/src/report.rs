//! What is told of a program: whether it has the huge pages that were required
//! ([`required`], before it begins), and the report at its [`end`].
//!
//! * [`extents`]: what is known by address; [`own_memory`]: what the kernel says;
//!   [`past_malloc`]: memory that the program has mapped past malloc and given back.
//! * [`report_file`]: where the report goes; [`watched`]: what hugectl, which watches,
//!   has to tell where nothing of ours runs at the end; [`staying`]: what the program
//!   leaves running, of which `mapped_files` tells text from data.
//!
//! **Invariants.** A report says what the kernel says: what cannot be read is not in it.
//! Each image of a process has one. That none can be made never keeps a program from
//! ending. It takes memory of its own ([`crate::rt::scratch`]), never the program's.
//!
//! **Locks.** None: one thread ends a process; numbers that the watcher reads are atomic.
//!
//! **At a fork.** The child claims a place of its own in what the watcher sees, and leaves
//! nothing there until it is another image. The file is shared, and appended to by one
//! call each.

pub(crate) mod end;
pub(crate) mod extents;
mod mapped_files;
mod own_memory;
pub(crate) mod past_malloc;
pub(crate) mod report_file;
pub(crate) mod required;
pub(crate) mod staying;
pub(crate) mod watched;
