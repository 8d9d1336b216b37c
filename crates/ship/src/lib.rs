//! Installs hugetools below any prefix, uninstalls it, and builds Debian and RPM packages.
//!
//! All of these use the table of files in [`layout`], with different directories. This crate itself
//! is never installed.
#![expect(
    clippy::disallowed_methods,
    reason = "it copies files of the tree; none of them is the kernel's"
)]

pub mod args;
pub mod deb;
mod failure;
pub mod install;
pub mod layout;
pub mod manifest;
pub mod packages;
pub mod rpm;
mod run;
pub mod stage;
mod text;
pub mod tree;

pub use failure::Failure;
