//! Affinity on next touch: memory moves to the node of the thread that touches it next.
//!
//! The pages of a range are set aside: `UFFDIO_MOVE` moves them to a mapping of ours, and
//! `userfaultfd(2)` stops each thread, even inside a system call, that touches the range. A
//! thread of ours (`service`) then migrates the touched piece to the node of the toucher and
//! moves it back. It ends when no piece is left, or after a minute.
//!
//! * [`request`]: the callers' side; `commands`: between it and the service
//! * `ranges`: the memory that qualifies; `figures`: for the report
//! * `survey`: whether moving pays; `nodes`: nodes of CPUs, threads and pages
//! * `service`: the thread; `mover`: sets aside and brings back; `area`: the place aside;
//!   `regions`: what belongs where; `resident`: which pages are in memory
//! * `balancing`: the kernel's own way, without the rights or before Linux 6.8
//!
//! **Invariants.** A page is either in its place or aside, and a watched place has no page that
//! isn't the program's. Calls of the program that unmap, move or drop memory, in libc or raw, are
//! messages of the kernel: the service reads them before it moves a page again. It allocates
//! nothing and touches no memory of the program.
//!
//! **Locks.** One caller at a time; the service takes none.
//!
//! **At a fork.** All pieces come back and the service ends ([`request::pause`]). The child
//! of a raw `clone` or of `_Fork` finds zeros in place of the pieces that wait.

mod area;
mod balancing;
mod commands;
mod figures;
mod mover;
mod nodes;
mod ranges;
mod regions;
pub mod request;
mod resident;
mod service;
mod survey;

pub use figures::figures;
pub use ranges::each as each_range;
