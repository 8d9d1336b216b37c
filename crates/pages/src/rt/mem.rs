//! memcpy, memset and memcmp of our own.
//!
//! Those of libc are IFUNCs. If libc precedes this library in the program's list of libraries, the
//! loader would run their resolvers before it relocates libc, and the program would crash.
//!
//! Loops contain a compiler fence: without it the compiler would turn them into calls of the very
//! function they implement.

mod compare;
mod copy;
mod fill;

pub use compare::{compare, length};
pub use copy::copy;
pub use fill::fill;
