//! Messages: notes, shortfalls, failures, and their destination.

pub(crate) mod amount;
pub mod failure;
pub mod messages;
pub mod note;
pub(crate) mod shortfall;
pub(crate) mod subject;
