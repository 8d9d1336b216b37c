//! Cache colouring: all huge pages begin at the same cache set, so regions are shifted by lines.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hugetools_pages::kernel::procfile;
use hugetools_pages::sys;

/// Line size in bytes if the kernel doesn't tell it.
const USUAL_LINE: usize = 64;

/// Returns the address of a pseudo-random cache line among the first `room` bytes.
pub(crate) fn shift(start: *mut c_void, room: usize) -> *mut c_void {
    let line = line();
    match room / line {
        0 => start,
        lines => start.wrapping_byte_add(random(lines) * line),
    }
}

fn line() -> usize {
    static LINE: AtomicUsize = AtomicUsize::new(0);
    let known = LINE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let path = c"/sys/devices/system/cpu/cpu0/cache/index2/coherency_line_size";
    let told = procfile::number(path).and_then(|line| usize::try_from(line).ok());
    let line = told.filter(|line| *line > 0).unwrap_or(USUAL_LINE);
    LINE.store(line, Ordering::Relaxed);
    line
}

/// Returns a number below `limit` by splitmix64: its step is one addition and needs no lock.
fn random(limit: usize) -> usize {
    static STATE: AtomicU64 = AtomicU64::new(0);
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    if STATE.load(Ordering::Relaxed) == 0 {
        let seed = sys::random() ^ sys::now();
        let _ = STATE.compare_exchange(0, seed, Ordering::Relaxed, Ordering::Relaxed);
    }
    let mut mix = STATE.fetch_add(STEP, Ordering::Relaxed);
    mix = (mix ^ mix >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mix = (mix ^ mix >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mix ^= mix >> 31;
    usize::try_from(mix % limit as u64).unwrap_or(0)
}
