//! What is known of the words of a command line: programs that start others, names, and
//! run-time systems.

pub(crate) mod emulator;
pub mod known_programs;
pub(crate) mod names;
pub(crate) mod starter;
pub(crate) mod wrapped;
pub(crate) mod wrappers;
