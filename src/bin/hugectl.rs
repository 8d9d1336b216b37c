//! See hugectl(8).
#![no_main]

hugetools::entry!(hugetools::hugectl::main);
