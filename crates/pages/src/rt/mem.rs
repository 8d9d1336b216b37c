//! memcpy, memset and memcmp of our own.
//!
//! libc's are IFUNCs. If libc precedes this library in the program's list, their resolvers would
//! run before libc is relocated, and the program would crash. So the libraries refer to none.
//!
//! Loops contain a compiler fence: without it the compiler would turn them into calls of the very
//! function they implement.

mod compare;
mod copy;
mod fill;

pub use compare::{compare, length};
pub use copy::copy;
pub use fill::fill;
