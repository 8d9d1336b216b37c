//! The two libraries: as files, and at work in programs.

mod apps;
mod files;
mod fork;
mod give;
mod grow;
mod heap;
mod judge;
mod limits;
mod parts;
mod postgres;
mod segments;
mod shm;
mod start;
mod torture;
