//! Units: bytes, page sizes and page counts ([`size`]), the kernel's lists of numbers
//! ([`list`]), seconds in options ([`seconds`]).
//!
//! **Invariants.** Types keep units apart. Overflow is always detected. A function that rounds
//! says so.

pub mod list;
pub mod seconds;
pub mod size;
