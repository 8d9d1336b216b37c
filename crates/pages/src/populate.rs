//! Having a page now instead of on its first touch: what cannot be had is an
//! error here, where a touch would be `SIGBUS`.
#![expect(unsafe_code, reason = "asks the kernel to fill memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, Errno, File, Result};

/// Since Linux 5.14.
const MADV_POPULATE_READ: i32 = 22;
const MADV_POPULATE_WRITE: i32 = 23;

/// Whether this kernel is older.
static OLD_KERNEL: AtomicBool = AtomicBool::new(false);

/// Makes the pages of a writable mapping present, `step` bytes each.
///
/// # Safety
/// The range must be mapped writable, hold nothing but zero, and be the
/// caller's.
pub unsafe fn populate(addr: usize, len: usize, step: usize) -> Result<()> {
    if !OLD_KERNEL.load(Ordering::Relaxed) {
        // SAFETY: the advice changes no contents.
        match unsafe { sys::madvise(addr, len, MADV_POPULATE_WRITE) } {
            Err(Errno(libc::EINVAL)) => OLD_KERNEL.store(true, Ordering::Relaxed),
            result => return result,
        }
    }
    // SAFETY: as the caller says.
    unsafe { populate_by_reading(addr, len, step) }
}

/// Makes the pages of shared memory present, `step` bytes each. Others may have
/// it, too: nothing is stored there.
///
/// # Errors
/// What a touch would come to.
pub fn shared(addr: usize, len: usize, step: usize) -> Result<()> {
    // SAFETY: the advice changes no contents.
    match unsafe { sys::madvise(addr, len, MADV_POPULATE_WRITE) } {
        // Not known, or not allowed: the kernel has to look at each page.
        Err(Errno(libc::EINVAL | libc::EPERM | libc::ENOSYS)) => {
            let mut pages = (addr..addr + len).step_by(step);
            pages.try_for_each(sys::look_at)
        }
        result => result,
    }
}

/// Makes all pages of a readable mapping present, without changing them.
///
/// # Errors
/// What a touch would come to; `EINVAL` before Linux 5.14, or where nothing may
/// be read there.
pub fn present(addr: usize, len: usize) -> Result<()> {
    // SAFETY: the advice changes no contents.
    unsafe { sys::madvise(addr, len, MADV_POPULATE_READ) }
}

/// Makes the pages of a readable mapping present, `step` bytes each, without
/// changing them. As much as can be had.
///
/// # Safety
/// The range must be mapped readable, and stay so meanwhile.
pub unsafe fn for_reading(addr: usize, len: usize, step: usize) {
    // SAFETY: the advice changes no contents.
    if unsafe { sys::madvise(addr, len, MADV_POPULATE_READ) } != Err(Errno(libc::EINVAL)) {
        return;
    }
    for page in (addr..addr + len).step_by(step) {
        // SAFETY: as the caller says.
        let _ = unsafe { (page as *const u8).read_volatile() };
    }
}

/// For older kernels: a system call that stores into a page fails with
/// `EFAULT` where the page cannot be had.
///
/// # Safety
/// As for [`populate`]; a zero byte is stored into each page.
unsafe fn populate_by_reading(addr: usize, len: usize, step: usize) -> Result<()> {
    let zero = File::open(c"/dev/zero", libc::O_RDONLY)?;
    for page in (addr..addr + len).step_by(step) {
        // SAFETY: the byte is the caller's and zero already.
        unsafe { zero.read_byte_to(page)? };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(prot: i32) -> usize {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        unsafe { sys::mmap(0, 1 << 16, prot, flags, -1, 0).unwrap() }
    }

    #[test]
    fn both_ways_fill_what_is_writable_and_refuse_what_is_not() {
        for way in [populate, populate_by_reading] {
            let good = mapping(libc::PROT_READ | libc::PROT_WRITE);
            let bad = mapping(libc::PROT_READ);
            // SAFETY: a new mapping of zeros.
            assert_eq!(unsafe { way(good, 1 << 16, 4096) }, Ok(()));
            // SAFETY: likewise.
            assert!(unsafe { way(bad, 1 << 16, 4096) }.is_err());
        }
    }
}
