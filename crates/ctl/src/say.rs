//! Messages: notes, shortfalls, failures, and their destination.

pub mod failure;
pub mod messages;
pub mod note;
pub mod shortfall;
pub(crate) mod subject;
