//! Calls that the kernel refuses for a part of a huge page, or takes for whole ones only:
//! those that are made again once it is ordinary memory, and those of `userfaultfd(2)`.
#![expect(unsafe_code, reason = "reads what the program gives to the kernel")]

use core::ffi::c_void;

use hugetools_pages::sys::{self, Errno};
use hugetools_pages::vmops;

use crate::kernel_writes::buffers::{can_be_read, range};

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

/// Makes a call of `ioctl(2)`, with huge pages made fit for it where it is one of
/// `userfaultfd(2)`.
///
/// # Safety
/// The argument must be one of that request.
pub(super) unsafe fn around_watch<T>(
    request: usize,
    argument: *const c_void,
    call: impl Fn() -> T,
) -> T
where
    T: PartialEq + From<i8>,
{
    // SAFETY: as the caller says.
    let words = || unsafe { words_at(argument.cast()) };
    // As the kernel takes it: the rest may be anything, where a libc has it as `int`.
    match request & 0xffff_ffff {
        sys::UFFDIO_REGISTER => {
            if let Some([start, len, mode]) = words() {
                vmops::before_watch(start, len, mode as u64);
            }
            call()
        }
        // No part of a huge page can be moved from.
        sys::UFFDIO_MOVE => again_if_fit(call, || {
            words().is_some_and(|[_, from, len]| vmops::make_fit(from, len))
        }),
        _ => call(),
    }
}

/// # Safety
/// It must be as long, or not to be read.
unsafe fn words_at(argument: *const [u64; 3]) -> Option<[usize; 3]> {
    if !can_be_read(&range(argument as usize, size_of::<[u64; 3]>())) {
        return None;
    }
    // SAFETY: as the caller says.
    let words = unsafe { argument.read_unaligned() };
    Some(words.map(|word| usize::try_from(word).unwrap_or(usize::MAX)))
}
