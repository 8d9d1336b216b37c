//! Prepares programs for huge pages: hugeedit's changes of files, and ld.hugetlbfs.
//!
//! `hugetools-elf` computes the bytes to change; this crate writes files and runs the linker.

mod capabilities;
pub mod change;
pub mod failure;
pub mod file;
pub mod ld;
pub mod report;

pub use change::{Align, Change};
pub use failure::Failure;
