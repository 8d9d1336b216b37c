//! What a program does with itself as a process: it forks (`atfork`), filters its own
//! system calls ([`seccomp`]), becomes a program that gains rights (`gains`), has more
//! `threads`.
//!
//! **Invariants.** Each happens as it would without us. What we must have asked of the
//! kernel, or opened, by then is done just before, since there may be no later.
//!
//! **Locks.** None of ours is held while the program's own handlers run.
//!
//! **At a fork.** What happens is told in `hugetools_pages::fork`.

pub mod atfork;
pub(crate) mod gains;
pub(crate) mod threads;

pub mod seccomp;
