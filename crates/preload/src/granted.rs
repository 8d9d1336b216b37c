//! What a program does to memory that is in no region of shared memory: huge
//! pages that it asked for by name, what it got in their place, or memory that
//! is none of ours.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_pages::grant::change;
use hugetools_pages::sys::{self, Result};
use hugetools_pages::{facts, plain};

/// Whether a range holds memory that was asked for by name.
pub(crate) fn meets(range: &Range<usize>) -> bool {
    change::meets(range) || plain::meets(range)
}

/// `munmap`
pub(crate) fn munmap(range: &Range<usize>) -> Result<()> {
    match change::meets(range) {
        true => change::munmap(range)?,
        // SAFETY: the program unmaps it.
        false => unsafe { sys::munmap(range.start, range.len())? },
    }
    plain::cut(range);
    Ok(())
}

/// `mprotect`
pub(crate) fn mprotect(range: &Range<usize>, prot: c_int) -> Result<()> {
    match change::meets(range) {
        true => change::mprotect(range, prot),
        // SAFETY: the program protects it.
        false => unsafe { sys::mprotect(range.start, range.len(), prot) },
    }
}

/// `madvise`
pub(crate) fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    match change::meets(range) {
        true => change::madvise(range, advice),
        // SAFETY: the program's own advice.
        false => unsafe { sys::madvise(range.start, range.len(), advice) },
    }
}

/// `mremap`, with the address and both lengths as the program gave them. What
/// was handed out in the place of huge pages can be freed where it is then.
pub(crate) fn mremap(
    old: &Range<usize>,
    (addr, old_len, new_len): (usize, usize, usize),
    flags: c_int,
    new_addr: usize,
) -> Result<usize> {
    if change::meets(old) {
        return change::mremap(addr, old_len, new_len, flags, new_addr);
    }
    // SAFETY: the program moves its memory.
    let now = unsafe { sys::mremap(addr, old_len, new_len, flags, new_addr)? };
    if flags & !(libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) == 0 && plain::meets(old) {
        plain::cut(old);
        let page = facts::page_size();
        plain::note(now..now + new_len.next_multiple_of(page), page)?;
    }
    Ok(now)
}
