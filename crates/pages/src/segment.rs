//! Code, data and bss of the program, and code of its libraries, on huge pages at the same
//! addresses. The program's segments are replaced before it begins.
//!
//! * [`load`]: program headers; [`tail`]: the last, partial huge page.
//! * [`rungs`]: the pages to try; [`placement`] and [`reason`]: results.
//! * [`text`]: code, by the file's [`page_cache`] or by a copy: [`share`], [`private_copy`],
//!   [`pool_file`]; [`symbols`]: its functions, for perf.
//! * [`data`]: data and bss; [`contents`]: the parts to copy.
//! * [`stack`]: stacks, advised in place.
//!
//! **Invariants.** A copy is staged and replaces the original in one system call; a failure
//! before that leaves the original. Read-only memory stays read-only. A segment that isn't mapped
//! as it was [`loaded`](crate::kernel::loaded) is never replaced by a copy.
//!
//! **Locks.** None: data is replaced only while one thread runs, and nobody writes to code.
//!
//! **At a fork.** Data and bss on pool pages are extents like the heap's; code is shared.

pub mod contents;
pub mod data;
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
