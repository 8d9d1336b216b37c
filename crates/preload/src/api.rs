//! The C interface: what a program linked with `-lhugetlbfs` calls.
//!
//! * [`exports`]: the functions, a line each; `calls`: the same functions as
//!   the whole process knows them. Where one of them needs another it calls
//!   that, so that a program may put its own in the place of any.
//! * `sizes`, `mounts`, `files`: which pages there are and where; `listings`
//!   are the kernel's lists, opened as a program could have done it.
//! * `regions`: memory; `region_table` has what was handed out; `color` shifts it by
//!   cache lines; `stray` is for pointers that we know nothing of.
//!
//! Sizes and mounts are found out when they are first asked for: a program that
//! only uses shared memory, or nothing at all, pays nothing for it. One that
//! was linked with `-lhugetlbfs` has them found out at its start (`prepare`),
//! since it may leave `/proc` and `/sys` behind. No lock of ours is held while
//! another public function, or `open`, runs: they may be the program's own.
//!
//! **Invariants.** Names, results and `errno` are those of libhugetlbfs. A function that
//! another one needs is called by the name that the program may have replaced.
//!
//! **Locks.** None, as said above; of two threads that find something out at once, the
//! first one's answer stays.
//!
//! **At a fork.** What was found out is the child's, too.

use core::ops::ControlFlow;

use hugetools_pages::policy::first_look;
use hugetools_pages::sys;

use crate::loader::objects;

mod calls;
mod color;
pub mod exports;
mod files;
mod listings;
pub mod mounts;
mod region_table;
mod regions;
mod sizes;
mod stray;

/// At the start of a program: finds sizes and mounts out, where the program or
/// one of its libraries was linked for them.
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
        first_look::take();
        sizes::default_size();
        // The first look for a mount finds all of them.
        mounts::find(0);
        sys::set_errno(errno);
    }
}
