//! What a program does to memory that is in no region of shared memory: huge
//! pages that it asked for by name, what it got in their place, or memory that
//! is none of ours.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use super::remap::call::Call;
use super::shared::Access;
use crate::registry::named::{change, fallback};
use crate::sys::{self, Result};

/// `munmap`
pub(super) fn munmap(range: &Range<usize>) -> Result<()> {
    super::private::before_change(range);
    match change::meets(range) {
        true => change::munmap(range)?,
        // SAFETY: the program unmaps it.
        false => unsafe { sys::munmap(range.start, range.len())? },
    }
    fallback::cut(range);
    Ok(())
}

/// After something else was mapped over it.
pub(super) fn replaced(range: &Range<usize>) {
    change::replaced(range);
    fallback::cut(range);
}

/// `mprotect`, `pkey_mprotect`
pub(super) fn mprotect(range: &Range<usize>, access: Access) -> Result<()> {
    super::private::before_change(range);
    match change::meets(range) && access.key.is_none() {
        true => change::mprotect(range, access.prot),
        // SAFETY: the program protects it.
        false => unsafe { access.give(range) },
    }
}

/// `madvise`
pub(super) fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    match change::meets(range) {
        true => change::madvise(range, advice),
        // SAFETY: the program's own advice.
        false => unsafe { sys::madvise(range.start, range.len(), advice) },
    }
}

/// `mremap`. What was handed out in the place of huge pages can be freed where
/// it is then.
pub(super) fn mremap(old: &Range<usize>, call: Call) -> Result<usize> {
    let Call {
        addr,
        old_len,
        new_len,
        flags,
        new_addr,
    } = call;
    if change::meets(old) {
        let now = change::mremap(addr, old_len, new_len, flags, new_addr)?;
        super::replaced_by(&call);
        return Ok(now);
    }
    // SAFETY: the program moves its memory.
    let now = unsafe { sys::mremap(addr, old_len, new_len, flags, new_addr)? };
    super::replaced_by(&call);
    if flags & !(libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) == 0 && fallback::meets(old) {
        fallback::cut(old);
        let page = sys::page_size();
        fallback::note(now..now + new_len.next_multiple_of(page), page)?;
    }
    Ok(now)
}
