//! Locking memory (`mlock(2)`) has the kernel write to it, which needs pages that
//! the pool may not have.

use core::ffi::{c_int, c_void};

use hugetools_pages::migrate::retry;
use hugetools_pages::sys::{self, Errno};

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
