//! The library's basics: functions that compilers call ([`mem`]), whether this copy is the first
//! one ([`marker`]), and memory for reports ([`scratch`]).
//!
//! **Invariants.** No function of libc is called. Of two loaded copies only the first one acts.
//!
//! **Locks.** None: the loader writes the marker before any code runs.
//!
//! **At a fork.** Nothing.

pub(crate) mod marker;
pub(crate) mod mem;
pub(crate) mod scratch;
