//! The two libraries: as files, and at work in programs.

mod apps;
mod files;
mod fork;
mod heap;
mod judge;
pub(crate) mod parts;
mod postgres;
mod segments;
mod shm;
mod start;
