//! Whether a large block may be had at all. What lies behind blocks is reserved
//! without being accounted, so that the kernel would not refuse what it does
//! refuse libc's malloc: more than there can ever be (`vm.overcommit_memory` 0), or
//! more than is left (2).
#![expect(unsafe_code, reason = "maps memory")]

use hugetools_pages::sys;

/// Smaller blocks are not asked about: no machine refuses one.
const LARGE: usize = 64 << 20;

/// Whether the kernel would give a block of this size: it is asked for one, which
/// is returned untouched.
pub(crate) fn may_be_had(size: usize) -> bool {
    if size < LARGE {
        return true;
    }
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping replaces nothing.
    match unsafe { sys::mmap(0, size, prot, flags, -1, 0) } {
        // SAFETY: mapped just now, and nobody knows of it.
        Ok(addr) => unsafe { sys::munmap(addr, size) }.is_ok(),
        Err(_) => false,
    }
}
