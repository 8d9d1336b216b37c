//! Populates pages before use: a missing page is an error here, but SIGBUS at a touch.
#![expect(unsafe_code, reason = "asks the kernel to fill memory by address")]

use core::sync::atomic::{AtomicU8, Ordering};

use crate::sys::{self, Errno, File, Result};

/// A `madvise` advice and whether the kernel supports it. `EINVAL` doesn't tell, since
/// inaccessible memory fails with it, too.
struct Advice {
    number: i32,
    known: AtomicU8,
}

/// `MADV_POPULATE_READ` and `MADV_POPULATE_WRITE`, since Linux 5.14.
static READ: Advice = Advice::new(22);
static WRITE: Advice = Advice::new(23);

const UNTESTED: u8 = 0;
const SUPPORTED: u8 = 1;
const UNSUPPORTED: u8 = 2;

impl Advice {
    const fn new(number: i32) -> Advice {
        Advice {
            number,
            known: AtomicU8::new(UNTESTED),
        }
    }

    /// Whether the kernel supports it; `false` if unknown. Tested once.
    fn is_known(&self) -> bool {
        match self.known.load(Ordering::Relaxed) {
            UNTESTED => {
                let is_known = sys::knows_advice(self.number);
                let known = if is_known { SUPPORTED } else { UNSUPPORTED };
                self.known.store(known, Ordering::Relaxed);
                is_known
            }
            known => known == SUPPORTED,
        }
    }

    fn apply(&self, addr: usize, len: usize) -> Result<()> {
        // SAFETY: the advice changes no contents.
        unsafe { sys::madvise(addr, len, self.number) }
    }
}

/// Populates a writable mapping; `step` is the page size.
///
/// # Safety
/// The range must be mapped writable, all zero, and owned by the caller.
pub unsafe fn populate(addr: usize, len: usize, step: usize) -> Result<()> {
    match WRITE.is_known() {
        true => write(addr, len, step),
        // SAFETY: upheld by the caller.
        false => unsafe { populate_by_reading(addr, len, step) },
    }
}

/// Populates each huge page by its last base page: the kernel clears the touched part last, and
/// clearing forwards takes a third of the time.
fn write(addr: usize, len: usize, step: usize) -> Result<()> {
    let last = sys::page_size();
    let end = addr + len;
    if step > last {
        let first_end = (addr / step + 1) * step;
        for page_end in (first_end..=end).step_by(step) {
            WRITE.apply(page_end - last, last)?;
        }
    }
    WRITE.apply(addr, len)
}

/// Populates shared memory without changing it, since other processes may use it.
pub fn shared(addr: usize, len: usize, step: usize) -> Result<()> {
    match write(addr, len, step) {
        // Unsupported or forbidden.
        Err(Errno(libc::EINVAL | libc::EPERM | libc::ENOSYS)) => probe_each(addr, len, step),
        result => result,
    }
}

/// Populates a readable mapping without changing it, as far as possible.
pub fn for_reading(addr: usize, len: usize, step: usize) {
    let _ = match READ.is_known() {
        true => READ.apply(addr, len),
        false => probe_each(addr, len, step),
    };
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
    fn inaccessible_memory_is_no_sign_of_an_old_kernel() {
        let none = mapping(libc::PROT_NONE);
        let has_advice = [&READ, &WRITE].map(|advice| sys::knows_advice(advice.number));
        // SAFETY: a new mapping; nothing can be stored there.
        let refused = unsafe { populate(none, LEN, 4096) };
        let error = if has_advice[1] {
            libc::EINVAL
        } else {
            libc::EFAULT
        };
        assert_eq!(refused, Err(Errno(error)));
        for_reading(none, LEN, 4096);
        assert_eq!([&READ, &WRITE].map(Advice::is_known), has_advice);
    }

    #[test]
    fn probing_inaccessible_pages_is_an_error() {
        let (good, none) = (mapping(libc::PROT_READ), mapping(libc::PROT_NONE));
        assert_eq!(probe_each(good, LEN, 4096), Ok(()));
        assert!(probe_each(none, LEN, 4096).is_err());
    }
}
