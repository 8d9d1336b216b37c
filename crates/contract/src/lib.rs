//! What hugectl and the run-time libraries agree on.
//!
//! * [`mod@env`]: the environment variables, their grammar, and [`env::Settings`],
//!   what a process makes of them.
//! * [`level`]: how much a message matters.
//! * [`segment`]: sorting the records of `/proc/<pid>/smaps` into text, data, bss,
//!   heap, stack, shm, anon.
//! * [`report`]: the result as a table and as JSON, the same whether hugectl
//!   looks from outside (`--status`) or the library from inside (`--report`).
//! * [`watch`]: the page that `hugectl --report` shares with the program.
//! * [`said`]: which lines the processes of a start have said.
//! * [`memory`]: how much of a limit of memory a heap leaves to others.
//! * [`doors`]: by which names programs call an allocator besides malloc.
//!
//! Everything works on borrowed bytes: no allocation, no input or output, so
//! that it runs inside any process at any time.
#![no_std]
#![forbid(unsafe_code)]

pub mod doors;
pub mod env;
pub mod level;
pub mod memory;
pub mod report;
pub mod said;
pub mod segment;
pub mod size;
pub mod watch;
