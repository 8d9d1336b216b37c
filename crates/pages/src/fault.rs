//! Signals that a fault raises, and the program's own handlers behind ours.
//!
//! **Invariants.** A fault that is not ours goes to the program's handler as the
//! kernel would have called it; the program sees its own handler and its own mask
//! when it asks for them ([`sigchain`], [`sigmask`]). A handler of ours calls no
//! function of the program's libc.
//!
//! What a `SIGBUS` for want of a page does is in [`crate::migrate`], that of `SIGSEGV` here
//! ([`sigsegv`]): it asks those who protect memory.
//!
//! **Locks.** One, for changes of handlers; who handles a fault takes none.
//!
//! **At a fork.** Handlers are inherited. Faults that were raised before memory was
//! replaced are known as [`late`] ones, in parent and child.

pub mod late;
pub mod libc_sigaction;
pub mod sigchain;
pub mod sigmask;
pub mod sigsegv;
