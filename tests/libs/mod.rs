//! The two libraries: as files, and at work in programs.

mod api;
mod apps;
mod contract;
mod files;
mod fork;
mod heap;
mod hidden;
mod memory_calls;
mod next_touch;
mod numa;
mod old_kernel;
mod report;
mod segments;
mod shm;
pub(crate) mod smaps;
mod start;
