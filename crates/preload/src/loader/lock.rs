//! Whether the loader's list may be read. Another thread may hold its lock for long in
//! `dl_iterate_phdr`, and a forked child may inherit it locked. A process that always had one
//! thread is safe.

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::kernel::facts;

/// Whether this process or an ancestor has created threads.
static HAD_THREADS: AtomicBool = AtomicBool::new(false);

/// Whether a thread of the parent may have left the lock locked at the fork.
static MAY_BE_STUCK: AtomicBool = AtomicBool::new(false);

/// Notes that other threads are about to exist.
pub(crate) fn note_threads() {
    HAD_THREADS.store(true, Ordering::Relaxed);
}

/// Notes that this process is a forked child.
pub(crate) fn note_child() {
    MAY_BE_STUCK.store(HAD_THREADS.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether the lock may stay locked for ever.
pub(crate) fn may_be_stuck() -> bool {
    MAY_BE_STUCK.load(Ordering::Relaxed)
}

/// Whether no other thread can hold the lock or have left it locked.
pub(crate) fn is_surely_free() -> bool {
    !HAD_THREADS.load(Ordering::Relaxed) && !facts::has_threads()
}
