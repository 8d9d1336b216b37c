//! File capabilities, which a write to the file removes.
#![expect(unsafe_code, reason = "neither std nor nix has fgetxattr")]

use std::fs::File;
use std::os::fd::AsRawFd;

/// Whether the file has capabilities.
pub(crate) fn has_capabilities(file: &File) -> bool {
    let name = c"security.capability";
    // SAFETY: the name is NUL-terminated, and with length 0 the kernel writes nothing.
    let len = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), std::ptr::null_mut(), 0) };
    len >= 0
}
