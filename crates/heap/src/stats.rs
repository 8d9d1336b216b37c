//! The heap in figures ([`figures`]), and what `malloc_stats` and `malloc_info` write of
//! them ([`tell`]).
//!
//! **Invariants.** A figure is counted, none is guessed; they are read one after another
//! while others allocate, so that they may differ by what happened in between. Nothing is
//! allocated to tell them.
//!
//! **Locks.** None.
//!
//! **At a fork.** The child's figures begin as its parent's.

pub(crate) mod figures;
pub(crate) mod tell;
