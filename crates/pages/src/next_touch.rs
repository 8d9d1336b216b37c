//! Affinity on next touch: memory moves to the node of the thread that touches it next.
//!
//! `UFFDIO_MOVE` parks the pages of a range: it moves them from their origin to a mapping of
//! ours. `userfaultfd(2)` then stops each thread that touches the range, even inside a system call.
//! A thread of ours (`service`) migrates the touched piece to that thread's node and moves it back
//! to its origin. The service ends when no piece is parked, or a minute after the last request.
//!
//! * [`request`]: entry points; `commands`: hands requests to the service
//! * `ranges`: movable memory; `figures`: counters for the report
//! * `nodes`: nodes of CPUs and threads
//! * `service`: the thread; `mover`: parks pieces and brings them back; `pieces`: table of origins
//!   and parking addresses; `resident`: resident pages
//!
//! **Invariants.** A page is either at its origin or parked; the origin holds only the program's
//! pages. The kernel reports each unmap, move or drop by the program, raw system calls included,
//! and the service reads these messages before it moves another page. It allocates nothing and
//! touches no memory of the program.
//!
//! **Locks.** One lock of the callers; the service takes none.
//!
//! **At a fork.** All pieces come back and the service ends ([`request::pause`]). The child of a
//! raw `clone` or of `_Fork` finds zeros in place of parked pieces.

mod commands;
mod figures;
mod mover;
mod nodes;
mod pieces;
mod ranges;
pub mod request;
mod resident;
mod service;

pub use figures::figures;
pub use ranges::for_each_movable;
pub use service::block_program_signals;
