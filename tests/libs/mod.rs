//! The two libraries: as files, and at work in programs.

mod api;
mod apps;
mod files;
mod fork;
mod heap;
mod judge;
mod postgres;
mod shm;
mod start;
