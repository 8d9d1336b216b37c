//! A program that changes its root: what it starts there may not have the library
//! that it is to preload, and its loader would say so each time.
#![expect(
    unsafe_code,
    reason = "exports a function of libc, changes the environment"
)]

use core::ffi::{c_char, c_int};

use hugetools_pages::config::environment;
use hugetools_pages::policy::first_look;
use hugetools_pages::sys;

use crate::next;
use crate::report::old_root;

/// `chroot(2)`.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    let errno = sys::errno();
    first_look::take();
    old_root::prepare();
    sys::set_errno(errno);
    // SAFETY: as the caller says.
    let result = unsafe { next::chroot(path) };
    if result == 0 {
        let errno = sys::errno();
        // SAFETY: a program that changes its root has one thread that looks at the
        // environment, or none that changes it: libc asks for that as well.
        unsafe { environment::forget_lost_libraries() };
        sys::set_errno(errno);
    }
    result
}
