//! Loaded objects: files ([`objects`]), symbols ([`symbols`]), relocations ([`relocations`]),
//! redefined symbols ([`rebind`]), programs that keep their malloc ([`host_malloc`]), and whether
//! the loader's list may be read (`lock`).
//!
//! **Invariants.** Tables are read where the loader mapped them; only `rebind` writes to them.
//!
//! **Locks.** The loader's, held while its list is read; our callbacks are short. A callback of the
//! program's `dl_iterate_phdr` may hold it for long, so once there are other threads we take it
//! only when the program loads a library or a report is made.
//!
//! **At a fork.** The loader's lock may stay held for ever in the child, so functions are looked up
//! before.

pub mod host_malloc;
pub(crate) mod lock;
pub mod objects;
pub mod rebind;
pub mod relocations;
pub mod symbols;
