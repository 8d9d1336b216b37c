//! The kernel's text, parsed: bytes in, values out. Each of its formats has one reader,
//! here, for the tools (by way of `model`) and for the libraries (`pages`).
//!
//! | module | what it reads |
//! |---|---|
//! | [`mount_scanner`] | `/proc/mounts`, byte by byte |
//! | [`smaps`] | `/proc/<pid>/smaps`, `smaps_rollup`, `maps` |
//!
//! Everything works on borrowed bytes: no allocation, no input or output, so that it
//! runs inside any process at any time. What is not said is a value of its own, never 0.
#![no_std]
#![forbid(unsafe_code)]

pub mod mount_scanner;
pub mod smaps;
