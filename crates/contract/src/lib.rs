//! Definitions that hugectl and the run-time libraries share.
//!
//! * [`mod@env`]: the environment variables, their syntax, and [`env::Settings`].
//! * [`level`]: the severity of messages.
//! * [`segment`]: sorts the mappings of `/proc/<pid>/smaps` into text, data, bss,
//!   heap, stack, shm, anon, file.
//! * [`report`]: a process's huge pages as a table and as JSON. hugectl writes it for
//!   another process (`--status`), the library for its own (`--report`).
//! * [`report_page`]: the page that `hugectl --report` shares with the program.
//! * [`ladder`]: the choice of a segment's pages, and the reasons for smaller ones.
//! * [`ledger`]: records which warnings a launch has printed.
//! * [`allocators`]: functions of known allocators besides `malloc` (`mallocx`, `je_malloc`).
//! * [`size`]: parses sizes in variables.
//!
//! Everything works on borrowed bytes, without allocation or I/O, so that it can run in
//! any process at any time.
#![no_std]
#![forbid(unsafe_code)]

pub mod allocators;
pub mod env;
pub mod ladder;
pub mod ledger;
pub mod level;
pub mod report;
pub mod report_page;
pub mod segment;
pub mod size;
