//! The benchmark, for the tests.

mod args;
mod compare;
mod pool;
mod prepare;
mod servers;
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod stop;
mod table;
mod tests;
mod work;

use crate::support;
