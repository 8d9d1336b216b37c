//! The end of the data segment, which some allocators move by themselves.
#![expect(unsafe_code, reason = "functions of libc that are replaced")]

use core::ffi::c_void;

use hugetools_pages::sys::{self, Errno};
use hugetools_pages::vmops::anon;

use crate::next::following::Following;

static SBRK: Following = Following::named(c"sbrk");

/// `sbrk(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sbrk(increment: isize) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { moved(&SBRK, increment) }
}

/// `sbrk(2)`, by glibc's own name, which tcmalloc calls.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sbrk(increment: isize) -> *mut c_void {
    static NEXT: Following = Following::named(c"__sbrk");
    // SAFETY: as the caller says.
    unsafe { moved(&NEXT, increment) }
}

/// # Safety
/// As libc's; `next` is one of the two.
unsafe fn moved(next: &Following, increment: isize) -> *mut c_void {
    type Call = unsafe extern "C" fn(isize) -> *mut c_void;
    // Not each libc has the second name, which a program may look for.
    let Some(address) = next.address().or_else(|| SBRK.address()) else {
        return sys::c_address(Err(Errno(libc::ENOMEM)));
    };
    // SAFETY: the address of the function of that name.
    let next = unsafe { core::mem::transmute::<usize, Call>(address) };
    // SAFETY: as the caller says.
    let was = unsafe { next(increment) };
    let grown = usize::try_from(increment).unwrap_or(0);
    if grown > 0 && was != libc::MAP_FAILED && anon::is_asked() {
        anon::break_moved(was as usize, grown);
    }
    was
}
