//! What the kernel's numbers are numbers of: bytes, page sizes and page counts
//! ([`size`]), its lists of numbers ([`list`]), seconds as options take them
//! ([`seconds`]).
//!
//! **Invariants.** Two units never mix. Nothing overflows in silence, and nothing is
//! rounded but where its name says so.

pub mod list;
pub mod seconds;
pub mod size;
