//! Functions that compilers call ([`mem`]), the first copy's [`marker`], memory for reports
//! ([`scratch`]).
//!
//! **Invariants.** No function of libc is called except `memset`. Of two loaded copies only the
//! first one acts.
//!
//! **Locks.** None: the loader writes the marker before any code runs.
//!
//! **At a fork.** Nothing.

pub(crate) mod marker;
pub(crate) mod mem;
pub(crate) mod scratch;
