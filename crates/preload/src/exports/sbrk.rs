//! `sbrk(2)`: advises heap that some allocators grow by the program break.
#![expect(unsafe_code, reason = "functions of libc that are replaced")]

use core::ffi::c_void;

use hugetools_pages::sys::{self, Errno};
use hugetools_pages::vmops::anon;

use crate::next::Next;
use crate::next::later::{GLIBC_SBRK, SBRK, call_later};

#[unsafe(no_mangle)]
unsafe extern "C" fn sbrk(increment: isize) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { move_break(&SBRK, increment) }
}

/// `__sbrk`, which tcmalloc's `sbrk` calls under glibc.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sbrk(increment: isize) -> *mut c_void {
    // SAFETY: upheld by the caller.
    unsafe { move_break(&GLIBC_SBRK, increment) }
}

/// # Safety
/// As for `sbrk`; `next` must be [`SBRK`] or [`GLIBC_SBRK`].
unsafe fn move_break(next: &Next, increment: isize) -> *mut c_void {
    let old_break = call_later!(
        next,
        fn(isize) -> *mut c_void,
        (increment),
        else sys::c_address(Err(Errno(libc::ENOMEM)))
    );
    let grown = usize::try_from(increment).unwrap_or(0);
    if grown > 0 && old_break != libc::MAP_FAILED && anon::is_enabled() {
        anon::break_moved(old_break as usize, grown);
    }
    old_break
}
