//! The program as a process: forks ([`atfork`]), seccomp filters ([`seccomp`]), `threads`.
//!
//! **Invariants.** Each has the same effect as without us. Kernel files that we need afterwards are
//! read or opened just before.
//!
//! **Locks.** None is held while the program's handlers run.
//!
//! **At a fork.** See `hugetools_pages::fork`.

pub mod atfork;
mod threads;

pub mod seccomp;
