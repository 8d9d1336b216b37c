//! Copies of environment strings, which the program may overwrite.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use crate::sys;

/// Leaks a copy of `bytes`, with a zero byte behind it; `None` without memory.
pub fn keep(bytes: &[u8]) -> Option<&'static [u8]> {
    let at = sys::map_new(bytes.len() + 1).ok()?;
    // SAFETY: the new mapping has that length, and nobody else uses it.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    // SAFETY: filled above, and never changed or unmapped.
    Some(unsafe { core::slice::from_raw_parts(at as *const u8, bytes.len()) })
}
