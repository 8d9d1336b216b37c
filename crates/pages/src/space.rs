//! Address space: reserved aligned, inaccessible, in the area by which heaps
//! are known.
#![expect(unsafe_code, reason = "maps address space")]

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::segment::HEAP_AREA;

use crate::sys::{self, Result};

const GIB: usize = 1 << 30;

/// Where the next window is asked for.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Has the first reservation begin at an address, where that lies in the area;
/// elsewhere a heap would not be known for one, so that the address is passed
/// over.
pub fn begin_at(base: u64) {
    let inside = HEAP_AREA.contains(&base);
    if let Some(base) = usize::try_from(base).ok().filter(|_| inside) {
        let _ = NEXT.compare_exchange(0, base, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Reserves `len` bytes at a multiple of `align`, without access and without
/// memory behind them. `align` is a power of two.
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

/// The same, outside of the heap's area.
pub fn reserve_elsewhere(len: usize, align: usize) -> Result<usize> {
    let room = len.checked_add(align).ok_or(sys::Errno(libc::ENOMEM))?;
    let addr = map(0, room)?;
    let start = addr.next_multiple_of(align);
    if start > addr {
        release(addr, start - addr);
    }
    if start + len < addr + room {
        release(start + len, addr + room - (start + len));
    }
    Ok(start)
}

/// Gives reserved address space back, with whatever stands behind it.
fn release(addr: usize, len: usize) {
    // SAFETY: reserved above and used by nobody yet.
    let _ = unsafe { sys::munmap(addr, len) };
}

/// Makes a range inaccessible and frees what stood behind it.
///
/// # Safety
/// The range must lie in reserved address space and be in use by nobody.
pub unsafe fn clear(addr: usize, len: usize) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe { sys::mmap(addr, len, libc::PROT_NONE, FLAGS | libc::MAP_FIXED, -1, 0) }.map(drop)
}

const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

fn map(hint: usize, len: usize) -> Result<usize> {
    // SAFETY: without MAP_FIXED nothing is replaced.
    unsafe { sys::mmap(hint, len, libc::PROT_NONE, FLAGS, -1, 0) }
}

/// The next address in the area, at random where it begins; `None` where the
/// area is used up or too narrow for this one.
fn next_hint(len: usize, align: usize) -> Option<usize> {
    let area = usize::try_from(HEAP_AREA.start).ok()?..usize::try_from(HEAP_AREA.end).ok()?;
    let mut at = NEXT.load(Ordering::Relaxed);
    loop {
        let from = match at {
            0 => area.start + random_offset(),
            at => at,
        };
        let start = from.checked_next_multiple_of(align)?;
        let end = start.checked_add(len)?.checked_add(align)?;
        if end > area.end {
            return None;
        }
        match NEXT.compare_exchange_weak(at, end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(start),
            Err(now) => at = now,
        }
    }
}

/// Up to 4 TiB in steps of 1 GiB.
fn random_offset() -> usize {
    usize::try_from(sys::random() >> 17 & 0xfff).unwrap_or(0) * GIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_space_is_aligned_and_in_the_area() {
        for align in [64 << 10, 2 << 20, GIB] {
            let addr = reserve(64 << 20, align).unwrap();
            assert_eq!(addr % align, 0);
            assert!(HEAP_AREA.contains(&(addr as u64)));
            release(addr, 64 << 20);
        }
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(reserve(usize::MAX - 4095, 4096).is_err());
        assert!(reserve(1 << 56, 2 << 20).is_err());
    }
}
