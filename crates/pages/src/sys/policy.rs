//! Memory policies.
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

/// Stores the node of each page (`move_pages(2)`), or a negative errno, such as `-ENOENT` for a
/// page that isn't populated.
///
/// # Errors
/// `EPERM` under a filter; `ENOSYS` without nodes.
pub fn page_nodes(pages: &[usize], nodes: &mut [c_int]) -> Result<()> {
    let count = pages.len().min(nodes.len());
    let (pages, nodes) = (pages.as_ptr() as usize, nodes.as_mut_ptr() as usize);
    unfiltered_call(libc::SYS_move_pages, [0, count, pages, 0, nodes, 0]).map(drop)
}
