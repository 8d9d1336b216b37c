//! What hugectl and the run-time libraries agree on.
//!
//! * [`mod@env`]: the environment variables, their grammar, and [`env::Settings`],
//!   what a process makes of them.
//! * [`mounts`]: mounts of hugetlbfs in `/proc/mounts`.
//! * [`smaps`]: the records of `/proc/<pid>/smaps`.
//! * [`segment`]: sorting them into text, data, bss, heap, stack, shm, anon.
//! * [`report`]: the result as a table and as JSON, the same whether hugectl
//!   looks from outside (`--status`) or the library from inside (`--report`).
//! * [`watch`]: what the watcher of a report and the libraries share.
//! * [`doors`]: by which names programs call an allocator besides malloc.
//! * [`symbols`]: the functions that an ELF file names, for perf.
//!
//! Everything works on borrowed bytes: no allocation, no input or output, so
//! that it runs inside any process at any time.
#![no_std]
#![forbid(unsafe_code)]

pub mod doors;
pub mod env;
pub mod mounts;
pub mod report;
pub mod segment;
pub mod size;
pub mod smaps;
pub mod symbols;
pub mod watch;
