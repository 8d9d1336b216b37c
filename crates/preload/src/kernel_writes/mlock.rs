//! Locking memory (`mlock(2)`) has the kernel write to it, as does having it there ahead
//! (`MADV_POPULATE_WRITE`), which needs pages that the pool may not have.

use core::ffi::{c_int, c_void};

use hugetools_pages::migrate::retry;
use hugetools_pages::sys::{self, Errno};

/// Makes a call that advises a range; again where it was to have the range there, and the
/// memory was just being replaced, or has no page.
pub(crate) fn populated(
    addr: *const c_void,
    len: usize,
    advice: c_int,
    call: impl Fn() -> c_int,
) -> c_int {
    let (before, mut again) = (sys::errno(), retry::Call::begin());
    let range = addr as usize..(addr as usize).saturating_add(len);
    loop {
        let result = call();
        let is_refused = result != 0
            && matches!(advice, libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE)
            && sys::errno() == Errno(libc::EFAULT);
        if !is_refused || range.is_empty() {
            return result;
        }
        if !again.is_to_be_made_again(core::iter::once(range.clone())) {
            sys::set_errno(Errno(libc::EFAULT));
            return result;
        }
        sys::set_errno(before);
    }
}

/// Makes a call that locks a range; once more after it has failed for want of a
/// page that ordinary memory does not need.
pub(crate) fn made_again(addr: *const c_void, len: usize, call: impl Fn() -> c_int) -> c_int {
    let before = sys::errno();
    let result = call();
    let range = addr as usize..(addr as usize).saturating_add(len);
    let wants_memory = || matches!(sys::errno(), Errno(libc::ENOMEM | libc::EAGAIN));
    if result == 0 || !wants_memory() || !retry::make_writable(&range) {
        return result;
    }
    sys::set_errno(before);
    call()
}
