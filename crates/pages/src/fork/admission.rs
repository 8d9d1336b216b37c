//! Private memory on pools beside threads.
//!
//! With one thread such memory can move off its pool at any time. With more, only write
//! protection that also stops the kernel (`userfaultfd(2)` with full rights) makes that safe.
//! So the first thread decides: without these rights all of it moves to ordinary memory
//! before the thread exists, and the pools are closed for it from then on.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::config;
use crate::extent::{Holds, index};
use crate::kernel::facts;
use crate::migrate::runs;
use crate::migrate::shield::Shield;
use crate::policy::pool_backoff::{self, Closed};
use crate::policy::{first_look, required};
use crate::sys::NoSignals;

use super::evacuate::evacuate;

/// Whether the first thread of this process has been seen.
static DECIDED: AtomicBool = AtomicBool::new(false);

/// Called before the program makes a thread.
#[inline]
pub fn before_threads() {
    let is_decided = || DECIDED.load(Ordering::Relaxed) || DECIDED.swap(true, Ordering::AcqRel);
    if !is_decided() && !config::get().kernel_fork && may_have_pages() {
        decide();
    }
}

#[cold]
fn decide() {
    // Until then a filter is supposed, which would forbid userfaultfd.
    first_look::take();
    if Shield::whole().is_none() {
        leave_pools();
    }
}

/// In the child of a fork, which has one thread again.
pub(super) fn forget() {
    DECIDED.store(false, Ordering::Relaxed);
}

fn may_have_pages() -> bool {
    let has_data = || index::look(|| index::extents().any(|extent| extent.holds == Holds::Data));
    config::heap_is_of_pool() || has_data()
}

/// Moves everything, and closes the pools.
fn leave_pools() {
    pool_backoff::close(Closed::Threads);
    // A thread that libc or a raw clone made may be writing by now.
    if facts::has_threads() {
        return;
    }
    let moved = {
        let _quiet = NoSignals::where_allowed();
        index::look(|| {
            let total: usize = runs::writable().map(runs::hugetlb_bytes).sum();
            match total {
                0 => 0,
                _ => evacuate(runs::writable(), total, &Shield::Alone),
            }
        })
    };
    if moved > 0 {
        pool_backoff::say_threads(moved);
        required::heap_moved(moved, "before the first thread");
    }
}
