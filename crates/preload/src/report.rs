//! Reports about the program: `--require` before it begins ([`required`]), memory use when it
//! ends ([`end`]).
//!
//! * [`extents`]: address ranges of known segments; [`own_memory`]: the kernel's figures.
//! * [`report_file`]: output to a file; [`shared_page`]: output through hugectl.
//!
//! **Invariants.** Figures come from the kernel. A failure never keeps a program from ending.
//! Reports are built in memory of their own ([`crate::rt::scratch`]).
//!
//! **Locks.** The registry's and the loader's, to find ranges. The shared page has atomic fields.
//!
//! **At a fork.** Only the parent uses the shared page. Parent and child append to the same file,
//! each by one write.

pub(crate) mod end;
pub(crate) mod extents;
mod own_memory;
pub(crate) mod report_file;
pub(crate) mod required;
pub(crate) mod shared_page;
