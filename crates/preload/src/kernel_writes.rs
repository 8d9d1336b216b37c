//! Memory of the program's that the kernel writes to by itself, where no signal handler
//! of ours can help: buffers that system calls fill ([`buffers`]), memory that is locked
//! ([`mlock`]) or populated ([`populate`]), stacks ([`stacks`]), also of [`coroutines`].
//!
//! **Invariants.** A call that the kernel refuses because of what we do to the memory is
//! made again, and the program never sees that it failed; one that fails for another
//! reason fails with its own number. What cannot wait for a page is on ordinary memory
//! before the kernel has it.
//!
//! **Locks.** None: those of `hugetools_pages::migrate`, and none while a call is made.
//!
//! **At a fork.** A call that another thread makes meanwhile fails where the memory is
//! protected, and is made again.

pub(crate) mod buffers;
pub(crate) mod copies;
mod coroutines;
pub(crate) mod message;
pub(crate) mod mlock;
pub(crate) mod populate;
pub(crate) mod stacks;
pub(crate) mod tables;
