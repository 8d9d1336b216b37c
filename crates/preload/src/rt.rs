//! Memory functions that compilers call ([`mem`]), the [`marker`] of the first loaded copy of this
//! library, memory for reports ([`scratch`]).
//!
//! **Invariants.** No function of libc is called except `memmove` and `memset`. Of two loaded copies
//! only the first one acts.
//!
//! **Locks.** None: the loader writes the marker before any code runs.
//!
//! **At a fork.** Nothing.

pub(crate) mod marker;
pub(crate) mod mem;
pub(crate) mod scratch;
