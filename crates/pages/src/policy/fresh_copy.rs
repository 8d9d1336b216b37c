//! Copies to new, zero-filled memory. Base pages of zeros stay unpopulated in the copy.
#![expect(unsafe_code, reason = "copies memory by address")]

use crate::sys;

/// Copies `len` bytes, except base pages of zeros.
///
/// # Safety
/// Both ranges must be whole base pages. `from` must be readable and must not change. `to` must be
/// writable, zero-filled, and used by nobody else.
pub(crate) unsafe fn copy(from: usize, to: usize, len: usize) {
    let page = sys::page_size();
    for at in (0..len).step_by(page) {
        // SAFETY: upheld by the caller.
        if !unsafe { is_zero(from + at, page) } {
            let (from, to) = ((from + at) as *const u8, (to + at) as *mut u8);
            // SAFETY: upheld by the caller.
            unsafe { core::ptr::copy_nonoverlapping(from, to, page) };
        }
    }
}

/// # Safety
/// The range must be whole base pages and readable.
unsafe fn is_zero(addr: usize, len: usize) -> bool {
    /// Long enough that the compiler uses vector registers.
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

    #[test]
    fn base_pages_of_zeros_are_not_populated() {
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
        unsafe { copy(from, to, 16 * page) };
        let mut populated = 0;
        let count = |_, page| populated += usize::from(page != pagemap::Page::Absent);
        pagemap::scan(to..to + 16 * page, count).unwrap();
        assert_eq!(populated, 4);
        assert!(is_same());
    }
}
