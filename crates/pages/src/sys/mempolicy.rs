//! Memory policies and nodes of pages.
#![expect(unsafe_code, reason = "takes addresses")]

use core::ffi::c_int;

use super::call::{Result, call, unfiltered_call};

/// `mbind(2)`.
///
/// # Safety
/// `mask` must point to `maxnode` bits of readable memory, or be 0.
pub unsafe fn mbind(
    addr: usize,
    len: usize,
    mode: usize,
    mask: usize,
    maxnode: usize,
    flags: usize,
) -> Result<()> {
    call(libc::SYS_mbind, [addr, len, mode, mask, maxnode, flags]).map(drop)
}

/// Mode of this thread's memory policy.
pub fn thread_policy() -> Result<c_int> {
    let mut mode = 0;
    let at = (&raw mut mode) as usize;
    unfiltered_call(libc::SYS_get_mempolicy, [at, 0, 0, 0, 0]).map(|_| mode)
}

/// The node of a page (`move_pages(2)`); `None` if it isn't in memory, or under a filter.
pub fn page_node(page: usize) -> Option<u32> {
    let mut node = c_int::MIN;
    let (pages, nodes) = ((&raw const page) as usize, (&raw mut node) as usize);
    unfiltered_call(libc::SYS_move_pages, [0, 1, pages, 0, nodes, 0]).ok()?;
    // A negative number is an error.
    u32::try_from(node).ok()
}
