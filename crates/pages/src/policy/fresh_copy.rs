//! Copies to new, zero-filled memory. Skips zeros, so that they take no memory.
#![expect(unsafe_code, reason = "copies memory by address")]

use core::ops::Range;

use crate::kernel::facts;
use crate::sys;

/// Copies huge page by huge page and skips zero ones. Touches the last byte of each first. The
/// kernel clears the touched base page last, so it clears the others forwards, which is faster.
///
/// # Safety
/// `len` must be whole base pages, `from` readable, and `to` writable, zero and the caller's alone.
pub(crate) unsafe fn copy(from: usize, to: usize, len: usize) {
    let size = facts::thp_size();
    let mut at = 0;
    while at < len {
        let part = (size - (to + at) % size).min(len - at);
        // SAFETY: upheld by the caller.
        if !unsafe { is_zero(from + at, part) } {
            // SAFETY: upheld by the caller; it is zero already.
            unsafe { ((to + at + part - 1) as *mut u8).write_volatile(0) };
            let (from, to) = ((from + at) as *const u8, (to + at) as *mut u8);
            // SAFETY: upheld by the caller.
            unsafe { core::ptr::copy_nonoverlapping(from, to, part) };
        }
        at += part;
    }
}

/// Copies base page by base page and skips zero ones, so that holes of shared memory stay holes.
///
/// # Safety
/// As for [`copy`].
pub(crate) unsafe fn copy_nonzero(from: usize, to: usize, len: usize) {
    for (part, is_zero) in runs(from, len) {
        if !is_zero {
            let to = (to + (part.start - from)) as *mut u8;
            // SAFETY: upheld by the caller.
            unsafe { core::ptr::copy_nonoverlapping(part.start as *const u8, to, part.len()) };
        }
    }
}

/// Yields runs of base pages: zero-filled ones (`true`) and others (`false`).
fn runs(from: usize, len: usize) -> impl Iterator<Item = (Range<usize>, bool)> {
    let page = sys::page_size();
    let end = from + len;
    // SAFETY: callers pass readable memory of whole base pages.
    let is_zero_page = move |at: usize| unsafe { is_zero(at, page) };
    let mut at = from;
    core::iter::from_fn(move || {
        let start = at;
        let is_zero = (start < end).then(|| is_zero_page(start))?;
        at += page;
        while at < end && is_zero_page(at) == is_zero {
            at += page;
        }
        Some((start..at, is_zero))
    })
}

/// # Safety
/// The range must be whole base pages and readable.
unsafe fn is_zero(addr: usize, len: usize) -> bool {
    /// Long enough for the compiler to use vector registers.
    type Block = [usize; 64];
    let mut blocks = (addr..addr + len).step_by(size_of::<Block>());
    // SAFETY: upheld by the caller; a base page is whole blocks.
    let block = |at: usize| unsafe { (at as *const Block).read() };
    blocks.all(|at| block(at).iter().fold(0, |all, word| all | word) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::pagemap;

    fn populated_pages(range: Range<usize>) -> usize {
        let mut count = 0;
        pagemap::scan(range, |_, page| {
            count += usize::from(page != pagemap::Page::Absent);
        })
        .unwrap();
        count
    }

    #[test]
    fn base_pages_of_zeros_stay_holes_of_shared_memory() {
        let page = sys::page_size();
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let map = || unsafe { sys::mmap(0, 16 * page, prot, flags, -1, 0).unwrap() };
        let (from, to) = (map(), map());
        let write = |page_number: usize, value: u8| {
            // SAFETY: mapped just now.
            unsafe { ((from + page_number * page + 77) as *mut u8).write(value) };
        };
        let is_same = || {
            // SAFETY: mapped just now, both of them.
            let byte = |at: usize, k: usize| unsafe { ((at + k) as *const u8).read() };
            (0..16 * page).all(|k| byte(from, k) == byte(to, k))
        };
        for page in [0, 5, 6, 15] {
            write(page, 7);
        }
        // SAFETY: memory of the test.
        unsafe { copy_nonzero(from, to, 16 * page) };
        assert_eq!(populated_pages(to..to + 16 * page), 4);
        assert!(is_same());
    }

    #[test]
    fn zeros_take_no_memory_in_a_copy() {
        let size = facts::thp_size();
        let map = || {
            let at = sys::map_new(5 * size).unwrap();
            at.next_multiple_of(size)
        };
        let (from, to) = (map(), map());
        let written = [size - 8, 2 * size, 4 * size - 8];
        for at in written {
            // SAFETY: mapped just now.
            unsafe { ((from + at) as *mut usize).write(at) };
        }
        // SAFETY: memory of the test.
        unsafe { copy(from, to, 4 * size) };
        assert_eq!(populated_pages(to + size..to + 2 * size), 0);
        for at in (0..4 * size).step_by(8) {
            let is = if written.contains(&at) { at } else { 0 };
            // SAFETY: memory of the test.
            assert_eq!(unsafe { ((to + at) as *const usize).read() }, is);
        }
    }
}
