//! The C interface.
//!
//! * [`exports`]: the functions; `calls`: the same functions as the process sees them, so that a
//!   program may replace any of them.
//! * `sizes`, `mounts`, `files`: pages and files; `listings`: the kernel's lists, opened through
//!   the program's own `open`.
//! * `next_touch`: moves memory to the nodes of the threads that touch it.
//! * `regions`: memory; `region_table`: regions in use; `color`: cache colouring.
//!
//! Sizes and mounts are read when first needed. A program linked with `-lhugetlbfs` reads them at
//! the start, since it may lose `/proc` and `/sys` later (chroot).
//!
//! **Invariants.** Names, results and `errno` are libhugetlbfs'. The functions call each other
//! through the loader, since the program may have replaced one.
//!
//! **Locks.** None, since a public function or `open` may be the program's own. Two threads may
//! both read; the first result is kept.
//!
//! **At a fork.** The child has the same results.

use core::ops::ControlFlow;

use hugetools_pages::policy::start_facts;
use hugetools_pages::sys;

use crate::loader::objects;

mod calls;
mod color;
pub mod exports;
mod files;
mod listings;
pub mod mounts;
pub(crate) mod next_touch;
mod region_table;
mod regions;
mod sizes;

/// Reads sizes and mounts at the start if any object was linked with `-lhugetlbfs`.
pub(crate) fn prepare() {
    let mut linked = false;
    objects::each(|object| match object.needs(c"libhugetlbfs.so") {
        true => {
            linked = true;
            ControlFlow::Break(())
        }
        false => ControlFlow::Continue(()),
    });
    if linked {
        let errno = sys::errno();
        start_facts::take();
        sizes::default_size();
        // The first query reads all mounts.
        mounts::find(0);
        sys::set_errno(errno);
    }
}
