//! What a program does to memory of its heap or its segments: guard pages by
//! `mprotect`, contents dropped by `madvise`, other memory in its place. Hugetlb
//! pages know none of that for a part of them, so the memory concerned becomes
//! ordinary memory first.

use core::ffi::c_int;

use hugetools_pages::{move_down, register};

/// Prepares memory for a call that changes its access, or unmaps it.
pub(crate) fn before_change(addr: usize, len: usize) {
    if register::meets(&(addr..addr.saturating_add(len))) {
        move_down::step_down(addr, len);
    }
}

/// Prepares memory for a `madvise`. What is only a hint needs nothing:
/// it is done, or does nothing.
pub(crate) fn before_madvise(addr: usize, len: usize, advice: c_int) {
    let changes = matches!(
        advice,
        libc::MADV_DONTNEED
            | libc::MADV_FREE
            | libc::MADV_REMOVE
            | libc::MADV_DONTFORK
            | libc::MADV_WIPEONFORK
            | libc::MADV_PAGEOUT
            | libc::MADV_COLD
    );
    if changes {
        before_change(addr, len);
    }
}
