//! `mremap(2)`: memory of ours becomes fit for it, large mappings of the program's own go to
//! where their huge pages need not be split, and what only our advice has cut in parts is
//! moved as one. `remap_file_pages(2)`, which puts pages of shared memory elsewhere in it.
#![expect(unsafe_code, reason = "a function of libc that is replaced")]

use core::ffi::{c_int, c_void};

use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, Errno};
use hugetools_pages::vmops::{self, remap, remap_file};

use super::fit::again_if_fit;
use crate::next;

/// `mremap(2)`. The last argument is read only where the flags say that there
/// is one.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    addr: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    // musl's reads it with the first of these only.
    let keeps_old = flags & remap::MREMAP_DONTUNMAP != 0 && weak::is_glibc();
    let has_new = flags & libc::MREMAP_FIXED != 0 || keeps_old;
    let new_addr = if has_new {
        new_addr
    } else {
        core::ptr::null_mut()
    };
    let call = remap::Call {
        addr: addr as usize,
        old_len,
        new_len,
        flags,
        new_addr: new_addr as usize,
    };
    if flags & libc::MREMAP_FIXED != 0 {
        super::wait_as_libc(call.new_addr, new_len);
    }
    let done = vmops::mremap(&call);
    let before = sys::errno();
    let at = match done {
        Some(result) => sys::c_address(result),
        None => {
            // SAFETY: as the caller says.
            let at = unsafe { next::mremap(addr, old_len, new_len, flags, new_addr) };
            if at != libc::MAP_FAILED {
                vmops::moved(&call, at as usize);
            }
            at
        }
    };
    if at != libc::MAP_FAILED {
        return at;
    }
    if sys::errno() != Errno(libc::EFAULT) {
        vmops::refused(&call);
        return at;
    }
    match vmops::in_parts(&call) {
        None => {
            vmops::refused(&call);
            at
        }
        Some(result) => {
            sys::set_errno(before);
            sys::c_address(result)
        }
    }
}

/// `remap_file_pages(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remap_file_pages(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    page: usize,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let call = || unsafe { next::remap_file_pages(addr, len, prot, page, flags) };
    with_ordinary_pages(addr as usize, len, call)
}

/// Makes such a call, however it was asked for.
pub(super) fn with_ordinary_pages<T>(addr: usize, len: usize, call: impl Fn() -> T) -> T
where
    T: PartialEq + From<i8>,
{
    if let Err(error) = remap_file::before(addr, len) {
        sys::set_errno(error);
        return T::from(-1);
    }
    again_if_fit(call, || remap_file::rejoined(addr, len))
}
