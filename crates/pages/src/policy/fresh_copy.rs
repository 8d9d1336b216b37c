//! A copy in memory that nobody has touched, made so that it costs the least.
#![expect(unsafe_code, reason = "copies memory by address")]

use crate::kernel::facts;

/// Copies by transparent huge pages of the copy. Zeros are there already, and are left
/// out, so that what was never used takes no memory. Of the others the last byte is
/// touched first: the kernel ends clearing a page where that was, and is faster forwards.
///
/// # Safety
/// Both must be `len` bytes of memory, whole base pages, the original readable and the
/// copy writable, zero and the caller's alone.
pub(super) unsafe fn copy(from: usize, to: usize, len: usize) {
    let size = facts::thp_size();
    let mut at = 0;
    while at < len {
        let part = (size - (to + at) % size).min(len - at);
        // SAFETY: as the caller says.
        if !unsafe { is_zero(from + at, part) } {
            // SAFETY: as the caller says, it is zero.
            unsafe { ((to + at + part - 1) as *mut u8).write_volatile(0) };
            let (from, to) = ((from + at) as *const u8, (to + at) as *mut u8);
            // SAFETY: as the caller says.
            unsafe { core::ptr::copy_nonoverlapping(from, to, part) };
        }
        at += part;
    }
}

/// Whether whole base pages are zero, up to the first byte that is not.
///
/// # Safety
/// They must be readable.
unsafe fn is_zero(addr: usize, len: usize) -> bool {
    /// What is looked at in one go, by the processor's widest registers.
    type Block = [usize; 64];
    let mut blocks = (addr..addr + len).step_by(size_of::<Block>());
    // SAFETY: as the caller says; a base page is whole blocks.
    let block = |at: usize| unsafe { (at as *const Block).read() };
    blocks.all(|at| block(at).iter().fold(0, |all, word| all | word) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::pagemap;
    use crate::sys;

    #[test]
    fn zeros_take_no_memory_in_a_copy() {
        let size = facts::thp_size();
        let map = || {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: a new mapping.
            let at = unsafe { sys::mmap(0, 5 * size, prot, flags, -1, 0).unwrap() };
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
        let mut there = 0;
        pagemap::scan(to + size..to + 2 * size, |_, page| {
            there += usize::from(page != pagemap::Page::Absent);
        })
        .unwrap();
        assert_eq!(there, 0);
        for at in (0..4 * size).step_by(8) {
            let is = if written.contains(&at) { at } else { 0 };
            // SAFETY: memory of the test.
            assert_eq!(unsafe { ((to + at) as *const usize).read() }, is);
        }
    }
}
