//! The two libraries: as files, and at work in programs.

mod api;
mod apps;
mod files;
mod fork;
mod give;
mod grow;
mod heap;
mod judge;
mod kept;
mod limits;
pub(crate) mod parts;
mod postgres;
mod quota;
mod segments;
mod share;
mod shm;
mod start;
mod torture;
mod valgrind;
