//! Cache colouring: all huge pages begin at the same cache set, so each region is shifted by some
//! cache lines.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Length in bytes of the longest cache line (s390x), a multiple of all others.
const LINE: usize = 256;

/// Returns an address in the first `room` bytes. Each call uses the next cache line.
pub(crate) fn shift(start: *mut c_void, room: usize) -> *mut c_void {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    match room / LINE {
        0 => start,
        lines => {
            let line = NEXT.fetch_add(1, Ordering::Relaxed) % lines;
            start.wrapping_byte_add(line * LINE)
        }
    }
}
