//! Programs made ready for huge pages: what hugeedit changes in a file, and
//! what ld.hugetlbfs has the linker do.
//!
//! The bytes of a file are the business of `hugetools-elf`; here are the file
//! itself, and the linker.

mod attribute;
pub mod change;
pub mod failure;
pub mod file;
pub mod ld;
pub mod report;

pub use change::{Align, Change};
pub use failure::Failure;
