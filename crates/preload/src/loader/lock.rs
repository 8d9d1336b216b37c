//! Whether the loader's list may be asked for. The lock that it holds while it shows its
//! list is a program's, too: a thread may wait for something of another's in
//! `dl_iterate_phdr`, and no libc makes that lock anew in the child of a fork. Where one
//! thread has been alone from the start nobody else can hold it.

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::kernel::facts;

/// Whether there are other threads, or were, or were in the process that made this one.
static MET_THREADS: AtomicBool = AtomicBool::new(false);

/// Other threads are about to be, or it may be that a child is made beside them.
pub(crate) fn note_threads() {
    MET_THREADS.store(true, Ordering::Relaxed);
}

/// Whether nobody else can hold it, nor has left it locked.
pub(crate) fn is_free() -> bool {
    !MET_THREADS.load(Ordering::Relaxed) && !facts::has_threads()
}
