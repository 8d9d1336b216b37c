//! Which pages are tried, and what is said when they cannot be had.
//!
//! **Invariants.** A rung is decided here and nowhere else: whether a pool is worth
//! a try ([`pool_backoff`]), how much of it this process may have ([`quota`]), whether
//! transparent huge pages serve ([`thp`]), and whether
//! memory may stand on another rung at all ([`required`]). Each shortfall is said
//! once.
//!
//! **Locks.** None: counters and flags.
//!
//! **At a fork.** No pool is asked while one is under way. The child goes on with the
//! counts of its parent, less what it got ordinary memory for.

pub mod first_look;
pub(crate) mod fresh_copy;
pub mod own_request;
pub mod pool_backoff;
pub mod quota;
pub(crate) mod release;
pub mod required;
pub mod thp;
pub mod witnessed;
