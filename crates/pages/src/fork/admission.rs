//! Decides whether a process with threads or with a seccomp filter of its own may keep private
//! pool memory.
//!
//! A process with one thread can move such memory at any time. With more threads a move needs write
//! protection that also stops the kernel: `userfaultfd(2)` with full rights. Otherwise all of it
//! moves to ordinary memory for good before the first thread is created. It can't move if another
//! thread runs, DMA may be writing or there is no room; a fork then says why.
//!
//! Under a filter of the program nothing can move, so it moves for good before that, too.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::config;
use crate::extent::{Holds, index};
use crate::kernel::facts;
use crate::migrate::runs;
use crate::migrate::shield::Shield;
use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::{required, start_facts};

use super::{evacuate, guard};

/// Whether the program has begun to create threads.
static DECIDED: AtomicBool = AtomicBool::new(false);

/// Decides once. Call it before the program creates a thread.
#[inline]
pub fn before_threads() {
    let is_decided = || DECIDED.load(Ordering::Relaxed) || DECIDED.swap(true, Ordering::AcqRel);
    if !is_decided() && !config::get().kernel_fork && may_have_pages() {
        decide();
    }
}

#[cold]
fn decide() {
    // Without these facts a seccomp filter is assumed, which rules out userfaultfd.
    start_facts::take();
    if Shield::userfaultfd().is_none() {
        leave_pools();
    }
}

/// Closes the pools and moves private memory off them. Call it before the program sets a seccomp
/// filter.
pub fn before_filter() {
    if config::get().kernel_fork || !may_have_pages() {
        return;
    }
    pool_backoff::close(Shortfall::Filter);
    guard::begin();
    let result = evacuate::leave_pools();
    guard::end();
    match result {
        None | Some(Ok(0)) => {}
        Some(Ok(moved)) => {
            pool_backoff::say_filter(moved);
            required::report_heap_moved(moved, "before a seccomp filter");
        }
        Some(Err(why)) => pool_backoff::say_left(runs::total_bytes(), &why),
    }
}

/// Resets the child of a fork, which has one thread.
pub(super) fn forget() {
    DECIDED.store(false, Ordering::Relaxed);
}

fn may_have_pages() -> bool {
    let has_data = || index::extents().any(|extent| extent.holds == Holds::Data);
    config::heap_is_of_pool() || has_data()
}

/// Closes the pools and moves private memory off them.
fn leave_pools() {
    pool_backoff::close(Shortfall::Threads);
    // A thread that libc or a raw clone started may be writing.
    if facts::has_threads() {
        return;
    }
    let moved = evacuate::leave_pools().and_then(Result::ok);
    if let Some(moved @ 1..) = moved {
        pool_backoff::say_threads(moved);
        required::report_heap_moved(moved, "before the first thread");
    }
}
