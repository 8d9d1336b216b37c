//! Whether the loader's list may be asked for. The lock that it holds while it shows its
//! list is a program's, too: a thread may wait for something of another's in
//! `dl_iterate_phdr`, and no libc makes that lock anew in the child of a fork. Where one
//! thread has been alone from the start nobody else can hold it.

use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_pages::kernel::facts;
use hugetools_pages::sys;

/// The process that has, or had, other threads, this one or one from which it descends; 0
/// where there is none.
static OF_THREADS: AtomicU32 = AtomicU32::new(0);

/// Other threads are about to be, or it may be that a child is made beside them.
pub(crate) fn note_threads() {
    let _ = OF_THREADS.compare_exchange(0, sys::getpid(), Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether nobody else can hold it, nor has left it locked.
pub(crate) fn is_free() -> bool {
    OF_THREADS.load(Ordering::Relaxed) == 0 && !facts::has_threads()
}
