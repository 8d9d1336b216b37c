//! See pagesize(1).
#![no_main]

hugetools::entry!(hugetools::pagesize::main);
