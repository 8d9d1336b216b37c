//! The two libraries: as files, and at work in programs.

mod api;
mod apps;
mod beginning;
mod files;
mod fork;
mod give;
mod grow;
mod heap;
mod judge;
mod kept;
mod limits;
mod numa;
mod old_kernel;
pub(crate) mod parts;
mod postgres;
mod quota;
mod rejoin;
mod segments;
mod share;
mod shm;
mod start;
mod torture;
mod valgrind;
