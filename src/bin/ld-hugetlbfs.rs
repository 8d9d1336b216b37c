//! See ld.hugetlbfs(1).
#![no_main]

hugetools::entry!(hugetools::ld_hugetlbfs::main);
