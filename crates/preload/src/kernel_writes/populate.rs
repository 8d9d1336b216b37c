//! Memory that is to be there ahead (`MADV_POPULATE_WRITE`): the kernel writes to it.

use core::ffi::{c_int, c_void};

use hugetools_pages::migrate::retry::Call;
use hugetools_pages::sys::{self, Errno};

/// Makes a call that advises a range; again where it was to have the range there, and the
/// memory was just being replaced, or has no page.
pub(crate) fn made_again(
    addr: *const c_void,
    len: usize,
    advice: c_int,
    call: impl Fn() -> c_int,
) -> c_int {
    let (before, mut again) = (sys::errno(), Call::begin());
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
