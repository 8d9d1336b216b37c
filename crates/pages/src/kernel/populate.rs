//! Populates pages before use: a missing page is an error here, but SIGBUS at a touch.
#![expect(unsafe_code, reason = "asks the kernel to fill memory by address")]

use crate::sys::{self, Errno, File, Result};

/// Populates a writable mapping; `step` is the page size.
///
/// # Safety
/// The range must be mapped writable, all zero, and owned by the caller.
pub unsafe fn populate(addr: usize, len: usize, step: usize) -> Result<()> {
    match write(addr, len, step) {
        // SAFETY: upheld by the caller.
        Err(error) if is_refused(error) => unsafe { populate_by_reading(addr, len, step) },
        result => result,
    }
}

/// Whether the kernel lacks the advice, or a filter refuses it.
fn is_refused(error: Errno) -> bool {
    matches!(error.0, libc::EINVAL | libc::EPERM | libc::ENOSYS)
}

/// Populates each huge page by its last base page: the kernel clears the touched part last, and
/// clearing forwards takes a third of the time.
fn write(addr: usize, len: usize, step: usize) -> Result<()> {
    /// Linux 5.14. Before, and for inaccessible memory, the error is `EINVAL`.
    const MADV_POPULATE_WRITE: i32 = 23;
    // SAFETY: the advice changes no contents.
    let advise = |addr, len| unsafe { sys::madvise(addr, len, MADV_POPULATE_WRITE) };
    let last = sys::page_size();
    let end = addr + len;
    if step > last {
        let first_end = (addr / step + 1) * step;
        for page_end in (first_end..=end).step_by(step) {
            advise(page_end - last, last)?;
        }
    }
    advise(addr, len)
}

/// Populates shared memory without changing it, since other processes may use it.
pub fn shared(addr: usize, len: usize, step: usize) -> Result<()> {
    match write(addr, len, step) {
        Err(error) if is_refused(error) => probe_each(addr, len, step),
        result => result,
    }
}

/// Populates the huge pages of a readable mapping, as far as possible; `step` is their size.
pub fn for_reading(addr: usize, len: usize, step: usize) {
    let _ = probe_each(addr, len, step);
}

/// Faults in each page by a read inside the kernel; stops at the first failure.
fn probe_each(addr: usize, len: usize, step: usize) -> Result<()> {
    (addr..addr + len)
        .step_by(step)
        .try_for_each(sys::probe_read)
}

/// For Linux before 5.14: a `read(2)` into a page that can't be populated returns `EFAULT`.
///
/// # Safety
/// As for [`populate`]; a zero byte is stored into each page.
unsafe fn populate_by_reading(addr: usize, len: usize, step: usize) -> Result<()> {
    let zero = File::open(c"/dev/zero", libc::O_RDONLY)?;
    for page in (addr..addr + len).step_by(step) {
        let last = page + step.min(addr + len - page) - 1;
        // SAFETY: the byte is the caller's and zero already.
        unsafe { zero.read_byte_to(last)? };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(prot: i32) -> usize {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        unsafe { sys::mmap(0, LEN, prot, flags, -1, 0).unwrap() }
    }

    const LEN: usize = 1 << 16;

    #[test]
    fn both_ways_populate_only_writable_memory() {
        for way in [populate, populate_by_reading] {
            let good = mapping(libc::PROT_READ | libc::PROT_WRITE);
            let bad = mapping(libc::PROT_READ);
            // SAFETY: a new mapping of zeros.
            assert_eq!(unsafe { way(good, LEN, 4096) }, Ok(()));
            // SAFETY: likewise.
            assert!(unsafe { way(bad, LEN, 4096) }.is_err());
        }
    }

    #[test]
    fn probing_inaccessible_pages_is_an_error() {
        let (good, none) = (mapping(libc::PROT_READ), mapping(libc::PROT_NONE));
        assert_eq!(probe_each(good, LEN, 4096), Ok(()));
        assert!(probe_each(none, LEN, 4096).is_err());
    }
}
