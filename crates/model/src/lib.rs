//! The kernel's huge page state, read once into values.
//!
//! Modules, the lowest first. Each uses only modules above it in this list, and its first
//! comment states its invariants.
//!
//! | module | purpose |
//! |---|---|
//! | [`head`] | the first fields of every JSON document |
//! | [`units`] | bytes, page sizes, page counts; the kernel's lists, seconds |
//! | [`root`] | access to `/proc` and `/sys`, and its errors |
//! | [`mount`] | mounted file systems |
//! | [`memory`] | system-wide memory: counters, zones, free blocks, swap, settings |
//! | [`hugetlb`] | the huge page pools, of the machine and of its memory nodes |
//! | [`thp`] | transparent huge pages |
//! | [`process`] | a process, its control groups and its folios |
//! | [`machine`] | the whole state |
//! | `fixture` | recorded machines, for tests |
//! | `sim` | a simulated kernel, for tests |
//!
//! `kernfs` parses the formats that the libraries also read, such as [`smaps`] and lines
//! of a name and a value ([`keyed`]).
//!
//! Parsers take bytes, not paths. Only [`root::Root`] opens kernel files. No module prints.
//!
//! The feature `fixture` enables `fixture` and `sim`.

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod head;
pub mod hugetlb;
pub mod machine;
pub mod memory;
pub mod mount;
pub mod process;
pub mod root;
#[cfg(any(test, feature = "fixture"))]
pub mod sim;
pub mod thp;
pub mod units;

pub use head::Head;
pub use hugetools_kernfs::{choice, keyed, mountinfo, size_name, smaps};
pub use machine::Machine;
pub use root::Root;
pub use root::error::FileError;
pub use root::kpath::KPath;
pub use units::size::{Bytes, PageCount, PageSize};
