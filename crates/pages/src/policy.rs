//! Which pages are tried, and the messages when they fail.
//!
//! **Invariants.** Other modules ask these before they use a rung: whether to ask a pool
//! ([`pool_backoff`]), how much of it this process may take ([`quota`]), whether transparent huge
//! pages serve ([`thp`]), and whether a lower rung is allowed ([`required`]).
//!
//! **Locks.** None: counters and flags.
//!
//! **At a fork.** The heap asks no pool during a fork. The child inherits the counts.

pub(crate) mod fresh_copy;
pub mod pool_backoff;
pub mod quota;
pub(crate) mod release;
pub mod required;
pub mod start_facts;
pub mod thp;
pub mod unmet;
