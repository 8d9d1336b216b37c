//! Calls that the kernel refuses for a part of a huge page: they are made again once it is
//! ordinary memory.

use hugetools_pages::sys::{self, Errno};

/// Makes a call that may be refused for a part of a huge page; again where `make_fit` has
/// made that ordinary memory.
pub(super) fn again_if_fit<T>(call: impl Fn() -> T, make_fit: impl FnOnce() -> bool) -> T
where
    T: PartialEq + From<i8>,
{
    let before = sys::errno();
    let result = call();
    if result != T::from(-1) || sys::errno() != Errno(libc::EINVAL) || !make_fit() {
        return result;
    }
    sys::set_errno(before);
    call()
}
