//! Permanent copies of environment strings: the program may overwrite the originals.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use crate::sys;

/// Returns a copy of `bytes` that is never freed; `None` if no memory can be mapped. A zero byte
/// follows the copy in memory.
pub fn keep(bytes: &[u8]) -> Option<&'static [u8]> {
    let at = sys::map_new(bytes.len() + 1).ok()?;
    // SAFETY: the new mapping is longer, and nobody else uses it.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    // SAFETY: filled above, and never changed or unmapped.
    Some(unsafe { core::slice::from_raw_parts(at as *const u8, bytes.len()) })
}
