//! `mremap(2)`
#![expect(unsafe_code, reason = "a function of libc that is replaced")]

use core::ffi::{c_int, c_void};

use hugetools_pages::rt::weak;
use hugetools_pages::sys;
use hugetools_pages::vmops::{self, remap};

use crate::next;

/// `new_addr` is read only if the flags require it; otherwise it may be undefined.
#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    addr: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    // musl reads it only with MREMAP_FIXED.
    let keeps_old = flags & libc::MREMAP_DONTUNMAP != 0 && weak::is_glibc();
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
    let done = vmops::mremap(&call);
    match done {
        Some(result) => sys::c_address(result),
        None => {
            // SAFETY: upheld by the caller.
            let at = unsafe { next::mremap(addr, old_len, new_len, flags, new_addr) };
            if at != libc::MAP_FAILED {
                vmops::moved(&call, at as usize);
            }
            at
        }
    }
}
