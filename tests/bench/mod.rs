//! The parts of the benchmark that measure nothing, for the tests.

mod args;
mod json;
mod outcome;
mod plan;
mod stats;
mod table;
mod tests;
mod way;
mod work;
