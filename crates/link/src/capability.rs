//! The capabilities that a program gives to those who start it
//! (`security.capability`). Writing into a file takes them away.
#![expect(unsafe_code, reason = "neither std nor nix has fgetxattr or fsetxattr")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const NAME: &CStr = c"security.capability";

/// More than any version of the structure has.
const LARGEST: usize = 256;

/// The capabilities of a file; `None` where it has none, or the file system
/// knows none.
pub(crate) fn get(file: &File) -> Option<Vec<u8>> {
    let mut value = vec![0u8; LARGEST];
    // SAFETY: the name ends in zero, and the kernel writes at most as many
    // bytes as the buffer has.
    let len = unsafe {
        libc::fgetxattr(
            file.as_raw_fd(),
            NAME.as_ptr(),
            value.as_mut_ptr().cast(),
            value.len(),
        )
    };
    value.truncate(usize::try_from(len).ok()?);
    Some(value)
}

/// Gives a file capabilities.
///
/// # Errors
/// The kernel's own.
pub(crate) fn set(file: &File, value: &[u8]) -> io::Result<()> {
    // SAFETY: the name ends in zero, and the value has as many bytes as said.
    let result = unsafe {
        libc::fsetxattr(
            file.as_raw_fd(),
            NAME.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
