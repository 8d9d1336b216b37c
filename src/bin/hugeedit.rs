//! See hugeedit(8).
#![no_main]

hugetools::entry!(hugetools::hugeedit::main);
