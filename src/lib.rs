//! The wiring: run a tool, print its report, choose the exit status.

pub mod console;
