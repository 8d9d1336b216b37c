//! Copying, filling and comparing of bytes, as libc's functions do it.
//!
//! libc's own are chosen by a function that runs while the loader binds them,
//! and where libc comes before this library in the program's list, that
//! function would run before libc itself is bound: the program would die
//! before its first line. So the libraries bring their own, and refer to none
//! of libc's.
//!
//! Loops over memory hold a fence of the compiler: it would make a call of the
//! very function that it stands in of them.

mod compare;
mod copy;
mod fill;

pub use compare::{compare, length};
pub use copy::{copy, copy_overlapping};
pub use fill::fill;
