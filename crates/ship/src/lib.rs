//! Installs hugetools from its tree into any prefix, takes it away again, and
//! makes packages for Debian and for RPM.
//!
//! There is one table of files, [`layout`]; an installation, a `.deb` and an
//! `.rpm` differ in their directories only. Nothing of this crate is installed.
#![expect(
    clippy::disallowed_methods,
    reason = "it copies files of the tree; none of them is the kernel's"
)]

pub mod args;
pub mod deb;
pub mod dirs;
mod failure;
pub mod install;
pub mod layout;
pub mod loader;
pub mod manifest;
pub mod packages;
pub mod rpm;
mod run;
pub mod stage;
mod text;
pub mod tree;

pub use failure::Failure;
