//! What is free goes back to the system: of a program that has become quiet ([`idle`]),
//! and before a heap becomes larger than it ever was ([`before_growth`]). mimalloc does
//! the rest by itself, when its pages become free.
//!
//! **Invariants.** A heap that neither grows nor rests keeps what it has freed, for as long
//! as mimalloc keeps it. What is given back here is not noticed as freed by the program.
//! A call of the program's costs a comparison where nothing is due.
//!
//! **Locks.** Flags alone: who finds another thread at it goes on.
//!
//! **At a fork.** What a fork has left to be joined again is seen to by the same calls;
//! the child counts on.

pub(crate) mod before_growth;
pub(crate) mod idle;
