//! See hugeadm(8).
#![no_main]

hugetools::entry!(hugetools::hugeadm::main);
