//! What is asked once of the kernel, while it can be: before the program confines
//! itself or changes its root, and at the latest when there is a heap, shared memory
//! or another thing of ours. A program that comes to none is not kept waiting for it.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::kernel::facts;
use crate::policy::thp;
use crate::sys::Call;
use crate::{config, sys};

/// Takes it, unless it was taken. Until then a filter of system calls is supposed.
#[inline]
pub fn take() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.load(Ordering::Relaxed) && !TAKEN.swap(true, Ordering::Relaxed) {
        look();
    }
}

#[cold]
#[inline(never)]
fn look() {
    let found = facts::begin();
    found.filters.into_iter().for_each(heed);
    thp::begin(found.thp);
}

/// Leaves out what these filters do not let through, as hugectl has tried.
fn heed(filters: u64) {
    let config = config::get();
    match config.filter {
        Some(tried) if u64::from(tried.count) == filters => {
            let barred = tried.barred;
            let all = [
                (barred.mremap, Call::Mremap),
                (barred.madvise, Call::Madvise),
                (barred.mprotect, Call::Mprotect),
            ];
            let all = all.into_iter().filter(|(is_barred, _)| *is_barred);
            all.for_each(|(_, call)| sys::bar(call));
            if !barred.memfd_create {
                sys::note_files_pass();
            }
        }
        // hugectl has started it, and looked.
        tried if tried.is_some() || config.speaker.is_some() => sys::note_untried_filter(),
        _ => {}
    }
}
