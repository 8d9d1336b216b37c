//! Chooses base pages for a small heap and for the first blocks of each thread, so that small
//! programs and thousands of threads need no more memory than without huge pages.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::extent::slice_bitmap::SLICE;
use crate::extent::usage;
use crate::sys;

/// Ranges up to this size (bytes) count against the thread's allowance.
const SMALL: usize = 512 << 10;

/// A heap larger than this (bytes) counts as small only while the process has touched at most this
/// much: huge pages would populate memory that it doesn't use.
const TOUCHED: usize = 6 << 20;

/// Slices on base pages that each thread may take.
const THREAD_ALLOWANCE: u8 = 8;

/// Slices taken, by hash of the thread. Threads with the same hash share an allowance.
static TAKEN: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

pub(super) fn is_on_base_pages(len: usize) -> bool {
    let is_allowed = len <= SMALL && take_allowance(len);
    let in_use = usage::in_use() + len;
    is_allowed
        || in_use <= usage::SMALL_HEAP && (in_use <= TOUCHED || sys::faulted_bytes() <= TOUCHED)
}

/// Takes a range from this thread's allowance; returns false if it is used up.
fn take_allowance(len: usize) -> bool {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (sys::thread_key() as u64).wrapping_mul(SPREAD) >> (u64::BITS - 12);
    let counter = &TAKEN[usize::try_from(hash).unwrap_or(0)];
    let taken = counter.load(Ordering::Relaxed);
    if taken >= THREAD_ALLOWANCE {
        return false;
    }
    let slices = u8::try_from(len.div_ceil(SLICE)).unwrap_or(THREAD_ALLOWANCE);
    counter.store(taken.saturating_add(slices), Ordering::Relaxed);
    true
}
