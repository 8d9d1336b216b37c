//! Numbers and their formats: bytes, page sizes and page counts ([`size`]), the kernel's lists of
//! numbers ([`list`]), times in seconds as option values ([`seconds`]).
//!
//! **Invariants.** Bytes, page sizes and page counts are distinct types. Arithmetic on them never
//! wraps around: an overflow is `None` or an error. A function that rounds or saturates says so.

pub mod list;
pub mod seconds;
pub mod size;
