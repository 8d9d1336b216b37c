//! Copies of environment strings, which the program may overwrite.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use crate::sys;

/// Copies `bytes` for ever; `None` without memory.
pub fn keep(bytes: &[u8]) -> Option<&'static [u8]> {
    if bytes.is_empty() {
        return Some(&[]);
    }
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping replaces nothing.
    let at = unsafe { sys::mmap(0, bytes.len(), prot, flags, -1, 0) }.ok()?;
    // SAFETY: the new mapping has that length, and nobody else uses it.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    // SAFETY: filled above, and never changed or unmapped.
    Some(unsafe { core::slice::from_raw_parts(at as *const u8, bytes.len()) })
}
