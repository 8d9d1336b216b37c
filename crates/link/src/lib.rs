//! hugeedit and ld.hugetlbfs: align and mark ELF files for huge pages.
//!
//! `hugetools-elf` computes the bytes; this crate writes files and runs the linker.

mod capabilities;
pub mod change;
pub mod failure;
pub mod file;
pub mod ld;
pub mod report;

pub use change::{Align, Change};
pub use failure::Failure;
