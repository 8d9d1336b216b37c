//! What a program does to memory of its heap: guard pages by `mprotect`,
//! contents dropped by `madvise`, placement by `mbind`. Hugetlb pages know none
//! of that for a part of them, so the memory concerned becomes ordinary memory
//! first.

use core::ffi::c_int;

use hugetools_pages::{move_down, register};

/// Whether memory of the heap is concerned.
pub(crate) fn concerns(addr: usize) -> bool {
    register::window_at(addr).is_some()
}

/// Prepares heap memory for an `mprotect`.
pub(crate) fn before_mprotect(addr: usize, len: usize) {
    if concerns(addr) {
        move_down::step_down(addr, len);
    }
}

/// Prepares heap memory for a `madvise`. What is only a hint needs nothing:
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
    if changes && concerns(addr) {
        move_down::step_down(addr, len);
    }
}
