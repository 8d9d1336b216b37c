//! The benchmark, for the tests.

mod args;
mod compare;
mod pool;
mod prepare;
mod servers;
mod tests;
mod work;

use crate::support;
