//! The wiring: run a tool, print its report, choose the exit status.

pub mod console;
pub mod hugeadm;
pub mod log;
