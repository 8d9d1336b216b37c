//! Futex with a timeout.

use core::sync::atomic::AtomicU32;

use super::call::call;
use crate::sys::cast::extended;

/// Waits while `word` holds `value`, at most so many milliseconds.
pub fn futex_wait_for(word_at: &AtomicU32, value: u32, milliseconds: u64) {
    let time = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    let args = [
        word_at.as_ptr() as usize,
        extended(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
        value as usize,
        time.as_ptr() as usize,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}
