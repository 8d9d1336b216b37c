//! The front end: runs a tool, prints its report and returns the exit status.

pub mod console;
pub mod entry;
pub mod hugeadm;
pub mod hugectl;
pub mod hugeedit;
mod ignored_signals;
pub mod ld_hugetlbfs;
pub mod log;
pub mod pagesize;
mod repeat;
pub mod stdout;
mod terminal;
pub mod usage;
