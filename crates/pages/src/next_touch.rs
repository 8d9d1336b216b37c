//! Affinity on next touch: memory moves to the node of the thread that touches it next.
//!
//! The pages of a range are set aside: `UFFDIO_MOVE` moves them to a mapping of ours, and
//! `userfaultfd(2)` stops each thread, even inside a system call, that touches the range. A
//! thread of ours ([`service`]) then migrates the touched piece to the node of the toucher and
//! moves it back. It ends when no piece is left, or after a minute.
//!
//! * `request`: what callers ask of the service; `ranges`: the memory that qualifies
//! * `survey`: whether moving pays; `nodes`: nodes of CPUs, threads and pages
//! * `service`: the thread; `mover`: sets aside and brings back; `regions`: what belongs where
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

use core::sync::atomic::{AtomicUsize, Ordering};

mod balancing;
mod mover;
mod nodes;
mod ranges;
mod regions;
pub mod request;
mod service;
mod survey;

pub use ranges::each as each_range;

/// Bytes of the pieces that were touched.
static TOUCHED: AtomicUsize = AtomicUsize::new(0);
/// Of these, the bytes on the node of their toucher before.
static LOCAL_BEFORE: AtomicUsize = AtomicUsize::new(0);
/// Likewise afterwards.
static LOCAL_AFTER: AtomicUsize = AtomicUsize::new(0);

/// Figures for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of the pieces that were touched.
    pub touched: usize,
    /// Of these, the bytes on the node of their toucher before.
    pub local_before: usize,
    /// Likewise afterwards.
    pub local_after: usize,
}

/// The figures of this process; `None` if nothing was touched.
pub fn figures() -> Option<Figures> {
    let figures = Figures {
        touched: TOUCHED.load(Ordering::Relaxed),
        local_before: LOCAL_BEFORE.load(Ordering::Relaxed),
        local_after: LOCAL_AFTER.load(Ordering::Relaxed),
    };
    (figures.touched > 0).then_some(figures)
}
