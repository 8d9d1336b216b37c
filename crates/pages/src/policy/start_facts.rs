//! Facts read once, when the process first gets memory from us or sets a seccomp filter. Later they
//! may be unreadable; earlier, processes without memory of ours would pay for the read.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::kernel::facts;
use crate::policy::thp;
use crate::sys::Call;
use crate::{config, sys};

/// Reads the facts once. Until then a seccomp filter is assumed.
#[inline]
pub fn take() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.load(Ordering::Relaxed) && !TAKEN.swap(true, Ordering::Relaxed) {
        read();
    }
}

#[cold]
#[inline(never)]
fn read() {
    let found = facts::start_state();
    found.filters.into_iter().for_each(note_rejected_calls);
    thp::begin(found.thp);
}

/// Notes the calls that hugectl found rejected, if as many filters are in force as it tested.
fn note_rejected_calls(filters: u64) {
    let config = config::get();
    match config.filter {
        Some(tried) if u64::from(tried.count) == filters => {
            let rejected = tried.refused;
            let all = [
                (rejected.mremap, Call::Mremap),
                (rejected.madvise, Call::Madvise),
                (rejected.mprotect_exec, Call::Mprotect),
            ];
            let all = all.into_iter().filter(|(is_rejected, _)| *is_rejected);
            all.for_each(|(_, call)| sys::note_rejected(call));
            if !rejected.memfd_create {
                sys::note_memfd_allowed();
            }
        }
        // hugectl has tested other filters, or none.
        tried if tried.is_some() || config.warning_pid.is_some() => sys::note_untested_filter(),
        _ => {}
    }
}
