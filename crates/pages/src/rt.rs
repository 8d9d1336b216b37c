//! What a program's run time would give us, if we might take it from there: bytes
//! copied and compared, locks, waiting, messages, libc's functions by name.
//!
//! **Invariants.** Nothing here allocates, raises a signal or needs a function that
//! some libc lacks. `errno` stays as it is. Nothing here knows what a page is.
//!
//! **Locks.** This is where they are made: a [`lock`] is held for a few stores, and
//! never while the program's code runs; a [`turn`] holds one with signals blocked
//! and with the [`fork_gate`] passed. A [`bell`] wakes those who wait.
//!
//! **At a fork.** The thread that forks closes the gate and goes through it itself;
//! in the child every lock is free again ([`lock::Lock::forget`]).

pub mod bell;
pub mod fork_gate;
pub mod kept_file;
pub mod lock;
pub mod mem;
pub mod message;
pub mod outlet;
pub mod path;
pub mod turn;
pub mod weak;
