//! What there is to say: notes, shortfalls, failures, and where it goes.

pub mod failure;
pub mod messages;
pub mod note;
pub mod shortfall;
pub(crate) mod subject;
