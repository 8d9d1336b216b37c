//! The parts of the benchmark that measure nothing, for the tests.

mod args;
mod json;
mod outcome;
mod plan;
mod stats;
mod table;
mod tests;
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod way;
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod work;
