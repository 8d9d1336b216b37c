//! What the tests share.

pub(crate) mod bless;
pub(crate) mod live;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod tree;
