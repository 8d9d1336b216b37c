//! What this library needs of itself before anything else: the functions that compilers
//! call by themselves ([`mem`]), whether this copy is the one at work ([`marker`]), and
//! memory for a report ([`scratch`]).
//!
//! **Invariants.** Nothing here knows what the program is or does. No function of libc's
//! is called. Where two copies of us are loaded, the first one alone does anything by
//! itself.
//!
//! **Locks.** None: the marker is written by the loader, before any code runs.
//!
//! **At a fork.** The child is the same copy, and has its parent's memory.

pub(crate) mod marker;
pub(crate) mod mem;
pub(crate) mod scratch;
