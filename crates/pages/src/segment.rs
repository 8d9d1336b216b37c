//! Code, data and bss of the program and its libraries on huge pages, replaced in place before
//! the program begins.
//!
//! * [`load`]: program headers; [`divide`]: whole huge pages; [`rungs`]: the rungs.
//! * [`text`]: code, by [`page_cache`] of the file, or by a copy that is [`share`]d or
//!   [`private_copy`]; [`data`]: data and bss.
//! * [`contents`]: the parts to copy; [`file_mapping`](crate::kernel::file_mapping): queries;
//!   [`placement`] and [`reason`]: results; [`symbols`]: functions, for perf.
//! * [`stack`]: stacks, advised in place.
//!
//! **Invariants.** A copy is staged and replaces the original in one system call; a failure
//! before leaves the original. Read-only memory stays read-only. A segment that was changed
//! since it was [`loaded`](crate::kernel::loaded) stays.
//!
//! **Locks.** None: one thread runs, or nobody writes.
//!
//! **At a fork.** Data and bss are extents like the heap's; code is shared.

pub mod contents;
pub mod data;
pub mod divide;
pub mod load;
pub mod page_cache;
pub mod placement;
pub mod pool_file;
pub mod private_copy;
pub mod reason;
pub mod rungs;
pub mod share;
pub mod stack;
pub mod symbols;
pub mod tail;
pub mod text;
