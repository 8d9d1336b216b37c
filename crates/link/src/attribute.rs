//! Extended attributes that a write to the file would remove or invalidate.
#![expect(unsafe_code, reason = "neither std nor nix has fgetxattr")]

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;

/// File capabilities. A write to the file removes them.
const CAPABILITY: &CStr = c"security.capability";

/// Hash or signature of the contents (IMA). The kernel may refuse to run the file if it
/// doesn't match.
const IMA: &CStr = c"security.ima";

/// Hash or signature of the inode's owner, mode and other attributes (EVM).
const EVM: &CStr = c"security.evm";

/// Maximum size of an attribute (bytes), `XATTR_SIZE_MAX`.
const MAX_ATTRIBUTE: usize = 65536;

/// Whether the file has capabilities.
pub(crate) fn has_capabilities(file: &File) -> bool {
    get(file, CAPABILITY).is_some()
}

/// Returns the attribute that holds a signature of the file. A plain hash is not a
/// signature: the kernel updates it after a write.
///
/// The first byte is the type (`enum evm_ima_xattr_type` in the kernel's
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
    let mut value = vec![0u8; MAX_ATTRIBUTE];
    // SAFETY: the name is zero-terminated, and the kernel writes at most
    // `value.len()` bytes.
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
