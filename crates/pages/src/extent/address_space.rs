//! Reserves address space: aligned, inaccessible, by default in the heap's area.
#![expect(unsafe_code, reason = "maps address space")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::segment::HEAP_AREA;

use crate::extent::mlocked;
use crate::sys::{self, Filter, Result};

const GIB: usize = 1 << 30;

/// The next address to try in the heap's area; 0 before the first reservation.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Sets the address of the first reservation if it is in the heap's area: reports identify the heap
/// by this area.
pub fn begin_at(base: u64) {
    let inside = HEAP_AREA.contains(&base);
    if let Some(base) = usize::try_from(base).ok().filter(|_| inside) {
        let _ = NEXT.compare_exchange(0, base, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Reserves `len` bytes aligned to `align`, a power of two, in the heap's area if possible.
pub fn reserve(len: usize, align: usize) -> Result<usize> {
    if let Some(hint) = next_hint(len, align) {
        let addr = map(hint, len)?;
        if addr % align == 0 {
            return Ok(addr);
        }
        release(addr, len);
    }
    reserve_elsewhere(len, align)
}

/// Like [`reserve`], outside of the heap's area.
pub fn reserve_elsewhere(len: usize, align: usize) -> Result<usize> {
    let padded = len.checked_add(align).ok_or(sys::Errno(libc::ENOMEM))?;
    let addr = map(0, padded)?;
    let start = addr.next_multiple_of(align);
    if start > addr {
        release(addr, start - addr);
    }
    if start + len < addr + padded {
        release(start + len, addr + padded - (start + len));
    }
    Ok(start)
}

pub(crate) fn release(addr: usize, len: usize) {
    // SAFETY: the caller has reserved it, and nobody uses it.
    let _ = unsafe { sys::munmap(addr, len) };
}

/// Makes a range inaccessible and frees its memory.
///
/// # Safety
/// The range must be reserved address space that nobody uses.
pub unsafe fn clear(addr: usize, len: usize) -> Result<()> {
    // Neither the old nor the inaccessible memory may count against RLIMIT_MEMLOCK.
    let is_locked = may_unlock();
    if is_locked {
        let _ = sys::munlock(addr, len);
    }
    // SAFETY: upheld by the caller.
    unsafe { sys::mmap(addr, len, libc::PROT_NONE, FLAGS | libc::MAP_FIXED, -1, 0)? };
    if is_locked {
        let _ = sys::munlock(addr, len);
    }
    Ok(())
}

const FLAGS: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Whether new mappings are locked and may be unlocked under the program's filter.
fn may_unlock() -> bool {
    mlocked::locks_future() && sys::filter() != Filter::Own
}

/// Reserves address space. With `MCL_FUTURE` the kernel locks even inaccessible memory, and counts
/// it until it is unlocked.
fn map(hint: usize, len: usize) -> Result<usize> {
    // SAFETY: without MAP_FIXED nothing is replaced.
    let addr = unsafe { sys::mmap(hint, len, libc::PROT_NONE, FLAGS, -1, 0)? };
    if may_unlock() {
        let _ = sys::munlock(addr, len);
    }
    Ok(addr)
}

/// The next address to try; `None` if the area is used up.
fn next_hint(len: usize, align: usize) -> Option<usize> {
    let start = usize::try_from(HEAP_AREA.start).ok()?;
    let limit = usize::try_from(HEAP_AREA.end).ok()?;
    let mut at = NEXT.load(Ordering::Relaxed);
    loop {
        let from = match at {
            0 => start + random_offset(),
            at => at,
        };
        let hint = from.checked_next_multiple_of(align)?;
        let end = hint.checked_add(len)?.checked_add(align)?;
        if end > limit {
            return None;
        }
        match NEXT.compare_exchange_weak(at, end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(hint),
            Err(now) => at = now,
        }
    }
}

/// Returns up to 4 TiB in steps of 1 GiB, derived from this library's address: as random as the
/// addresses of libc's mappings.
fn random_offset() -> usize {
    let here = (&raw const NEXT) as usize;
    ((here / sys::page_size()) & 0xfff) * GIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_an_error() {
        assert!(reserve(usize::MAX - 4095, 4096).is_err());
        assert!(reserve(1 << 56, 2 << 20).is_err());
    }
}
