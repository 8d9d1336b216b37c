//! Whether the loader's list may be read. Another thread may hold its lock for long in
//! `dl_iterate_phdr`, and a forked child may inherit it locked. A process that always had one
//! thread is safe.

use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_pages::kernel::facts;
use hugetools_pages::sys;

/// PID of the first process with other threads, this one or an ancestor; 0 for none.
static OF_THREADS: AtomicU32 = AtomicU32::new(0);

/// Notes that other threads are about to exist.
pub(crate) fn note_threads() {
    let _ = OF_THREADS.compare_exchange(0, sys::getpid(), Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether no other thread can hold the lock or have left it locked.
pub(crate) fn is_free() -> bool {
    OF_THREADS.load(Ordering::Relaxed) == 0 && !facts::has_threads()
}
