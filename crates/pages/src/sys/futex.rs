//! Sleeping on a word for a while, and those that do.

use core::sync::atomic::AtomicU32;

use super::call::call;
use crate::sys::cast::extended;

/// Waits while `word` holds `value`, at most until it is woken, or for so many
/// milliseconds.
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

/// Has all who wait for the word at one address, in shared memory, wait for the one at
/// another address.
pub fn futex_requeue(from: usize, to: usize) {
    let all = extended(i32::MAX);
    let args = [from, extended(libc::FUTEX_REQUEUE), 0, all, to, 0];
    let _ = call(libc::SYS_futex, args);
}

/// Wakes all who wait for a word in shared memory.
pub fn futex_wake_shared(addr: usize) {
    let args = [
        addr,
        extended(libc::FUTEX_WAKE),
        extended(i32::MAX),
        0,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}

/// Waits for a word in shared memory, for as long as it takes.
#[cfg(test)]
pub(crate) fn futex_wait_shared(addr: usize, value: usize) {
    let args = [addr, extended(libc::FUTEX_WAIT), value, 0, 0, 0];
    let _ = call(libc::SYS_futex, args);
}
