//! Whether the loader's list may be read. Another thread may hold its lock for long in
//! `dl_iterate_phdr`, and a forked child may inherit it locked. A process that always had one
//! thread is safe.

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::kernel::facts;

/// Whether this process or an ancestor has created threads.
static HAD_THREADS: AtomicBool = AtomicBool::new(false);

/// Notes that other threads are about to exist.
pub(crate) fn note_threads() {
    HAD_THREADS.store(true, Ordering::Relaxed);
}

/// Whether no other thread can hold the lock or have left it locked.
pub(crate) fn is_surely_free() -> bool {
    !HAD_THREADS.load(Ordering::Relaxed) && !facts::has_threads()
}
