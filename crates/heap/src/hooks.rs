//! What mimalloc calls, and does not know that it does: its calls to the system, put on
//! ours by the linker ([`wrap`]), its slow paths ([`side_stack`]), the
//! end of a thread ([`thread`]).
//!
//! **Invariants.** Each answers as libc or the kernel would. Nothing here takes memory
//! from mimalloc, which is at work when it calls.
//!
//! **Locks.** mimalloc's own mutexes, one word of ours each. Whoever holds one is inside
//! of the gate of forks.
//!
//! **At a fork.** So all of them are free then, in the child, too.

pub(crate) mod side_stack;
pub(crate) mod thread;
pub(crate) mod wrap;
