//! Replacements for libc: memcpy, locks, wait queues, messages, functions by name.
//!
//! **Invariants.** Nothing here allocates (but libc may, in [`weak::atfork`]), raises a signal, or
//! needs a function that some libc lacks. `errno` is kept.
//!
//! **Locks.** A [`lock`] is never held while the program's code runs. A [`table_guard`] holds one
//! with signals blocked and the [`fork_gate`] passed.
//!
//! **At a fork.** The forking thread closes the gate and passes it itself; in the child every lock
//! is free (`lock::forget_others`).

pub mod fork_gate;
pub mod kept_file;
pub mod lock;
pub mod mem;
pub mod message;
pub mod outlet;
pub mod path;
pub mod table_guard;
pub mod wait_queue;
pub mod weak;
