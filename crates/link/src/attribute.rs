//! Extended attributes of a file that a change of its contents touches.
#![expect(unsafe_code, reason = "neither std nor nix has fgetxattr or fsetxattr")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What the program is given beyond its user's rights. Writing into the file
/// takes it away.
const CAPABILITY: &CStr = c"security.capability";

/// What the kernel compares the contents with before it runs the file, where
/// the machine is set up so (IMA).
const IMA: &CStr = c"security.ima";

/// The same for owner, mode and the other attributes (EVM).
const EVM: &CStr = c"security.evm";

/// No attribute is larger (`XATTR_SIZE_MAX`).
const LARGEST: usize = 65536;

/// The capabilities of a file; `None` where it has none, or the file system
/// knows none.
pub(crate) fn capabilities(file: &File) -> Option<Vec<u8>> {
    get(file, CAPABILITY)
}

/// Gives a file capabilities.
///
/// # Errors
/// The kernel's own.
pub(crate) fn set_capabilities(file: &File, value: &[u8]) -> io::Result<()> {
    // SAFETY: the name ends in zero, and the value has as many bytes as said.
    let result = unsafe {
        libc::fsetxattr(
            file.as_raw_fd(),
            CAPABILITY.as_ptr(),
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

/// The attribute that holds a signature of the contents, or of what belongs to
/// them. A mere hash is no signature: the kernel keeps it up to date.
///
/// The first byte says which it is (`enum evm_ima_xattr_type` in the kernel's
/// `security/integrity/integrity.h`).
pub(crate) fn signature(file: &File) -> Option<&'static str> {
    const DIGSIG: u8 = 3;
    const PORTABLE_DIGSIG: u8 = 5;
    const VERITY_DIGSIG: u8 = 6;
    let first = |name| get(file, name)?.first().copied();
    match (first(IMA), first(EVM)) {
        (Some(DIGSIG | VERITY_DIGSIG), _) => Some("security.ima"),
        (_, Some(DIGSIG | PORTABLE_DIGSIG)) => Some("security.evm"),
        _ => None,
    }
}

fn get(file: &File, name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0u8; LARGEST];
    // SAFETY: the name ends in zero, and the kernel writes at most as many
    // bytes as the buffer has.
    let len = unsafe {
        libc::fgetxattr(
            file.as_raw_fd(),
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            value.len(),
        )
    };
    value.truncate(usize::try_from(len).ok()?);
    Some(value)
}
