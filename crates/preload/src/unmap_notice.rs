//! Tells hooks of `madvise` that the heap drops pages. MPI libraries patch libc's functions, so that
//! their caches of pinned memory forget what a program frees; our own system calls bypass them.
#![expect(unsafe_code, reason = "calls libc's function")]

use core::ffi::c_void;

use hugetools_pages::sys::{self, Filter};

use crate::next;

/// Announces that the pages of a range are about to go. The advice fails on private memory and
/// changes nothing.
pub fn announce(addr: usize, len: usize) {
    // The program's filter may kill for an unusual advice.
    if sys::filter() == Filter::Own {
        return;
    }
    let before = sys::errno();
    // SAFETY: it changes nothing.
    let _ = unsafe { next::madvise(addr as *mut c_void, len, libc::MADV_REMOVE) };
    sys::set_errno(before);
}
