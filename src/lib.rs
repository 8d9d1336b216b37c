//! The wiring: run a tool, print its report, choose the exit status.

mod again;
pub mod answer;
pub mod console;
pub mod entry;
pub mod hugeadm;
pub mod hugectl;
pub mod hugeedit;
pub mod ld_hugetlbfs;
pub mod log;
pub mod pagesize;
mod quiet;
mod terminal;
pub mod usage;
