//! Code of a library on pages of a pool, of which the library changes a part: for that it
//! makes a few base pages writable, and the kernel has none there. They become ordinary
//! memory then, as those of the program's own code do.
//!
//! The loader unmaps a library without our knowing, so such code is not registered: the
//! kernel is asked what is there, once it has refused a call.
#![expect(unsafe_code, reason = "replaces code by a copy")]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_kernfs::{keyed, smaps};

use super::range::{overlap, touched};
use crate::config;
use crate::kernel::procfile::{each_line, look};
use crate::policy::quota;
use crate::sys::{self, Call};

/// The name of such code, as the kernel has it.
const NAME: &[u8] = b"/memfd:hugetlbfs-text";

/// So many mappings are looked at for one call.
const MOST: usize = 8;

/// Makes code of libraries in a range ordinary memory, after a call that the kernel has
/// refused for it; whether there was any.
pub fn leave_pool(addr: usize, len: usize) -> bool {
    let Some(range) = touched(addr, len) else {
        return false;
    };
    if !config::get().text_libs || sys::is_barred(Call::Mremap) {
        return false;
    }
    let mut any = false;
    let mut rest = range;
    for _ in 0..MOST {
        let Some(code) = look(|| Code::first(&rest)) else {
            break;
        };
        if code.replace(&rest).is_none() {
            break;
        }
        any = true;
        rest.start = code.range.end.min(rest.end);
        if rest.start >= rest.end {
            break;
        }
    }
    any
}

/// A mapping of such code.
struct Code {
    range: Range<usize>,
    /// The size of its pages.
    page: usize,
}

impl Code {
    /// The first one that lies in a range in part. None that may be written to: others
    /// might do so meanwhile.
    fn first(within: &Range<usize>) -> Option<Code> {
        let mut range = 0..0;
        each_line(c"/proc/self/smaps", |line| {
            if let Some(record) = smaps::records(line).next() {
                let address = |word| usize::try_from(word).unwrap_or(usize::MAX);
                let is_code = record.executable && !record.writable && !record.shared;
                let is_ours = is_code && record.readable && record.name.starts_with(NAME);
                let mapping = address(record.start)..address(record.end);
                let meets = mapping.start < within.end && within.start < mapping.end;
                range = if is_ours && meets { mapping } else { 0..0 };
                return None;
            }
            let kib = keyed::number_in(line, b"KernelPageSize:").filter(|_| range.end > 0)?;
            let page = usize::try_from(kib).ok()?.checked_mul(1024)?;
            let range = range.clone();
            page.is_power_of_two().then_some(Code { range, page })
        })
    }

    /// Puts a copy in the place of the pages that a range touches.
    fn replace(&self, touched: &Range<usize>) -> Option<()> {
        let inner = overlap(touched, &self.range);
        let start = inner.start / self.page * self.page;
        let len = inner.end.checked_next_multiple_of(self.page)? - start;
        let (private, writable) = (
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            libc::PROT_READ | libc::PROT_WRITE,
        );
        // SAFETY: new memory, wherever there is room.
        let copy = unsafe { sys::mmap(0, len, writable, private, -1, 0) }.ok()?;
        // SAFETY: code that can be read and that nobody writes to, and new memory of that
        // length.
        unsafe { core::ptr::copy_nonoverlapping(start as *const u8, copy as *mut u8, len) };
        sys::name_memory(copy, len, c"hugetlbfs-text");
        // SAFETY: the copy is ours, and is what is there.
        let moved = unsafe { put(copy, len, start) };
        match moved {
            Some(()) => quota::give(self.page, len),
            // SAFETY: ours, and known to nobody.
            None => drop(unsafe { sys::munmap(copy, len) }),
        }
        moved
    }
}

/// Moves a copy to where its original is, with the access of that.
///
/// # Safety
/// The copy must be the caller's.
unsafe fn put(copy: usize, len: usize, to: usize) -> Option<()> {
    const CODE: c_int = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: as the caller says.
    unsafe { sys::mprotect(copy, len, CODE) }.ok()?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: it is what is there.
    unsafe { sys::mremap(copy, len, len, flags, to) }.ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_memory_stays() {
        let page = sys::page_size();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let at = unsafe { sys::mmap(0, page, libc::PROT_READ, flags, -1, 0) }.unwrap();
        assert!(!leave_pool(at, page) && !leave_pool(at, 0));
        let code = leave_pool as fn(usize, usize) -> bool as usize;
        assert!(!leave_pool(code / page * page, page));
    }
}
