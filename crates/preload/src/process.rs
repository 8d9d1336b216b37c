//! The program as a process: forks ([`atfork`]), seccomp filters ([`seccomp`]), `threads`.
//!
//! **Invariants.** Each replaced function has the effect of libc's, except that `prctl` may ignore
//! `PR_SET_THP_DISABLE`. Kernel files that we need after a seccomp filter are read or opened just
//! before it.
//!
//! **Locks.** None is held while the program's handlers run.
//!
//! **At a fork.** See `hugetools_pages::fork`.

mod atfork;
mod threads;

pub(crate) mod seccomp;
