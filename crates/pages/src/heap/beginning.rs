//! What begins on base pages: a small heap, and the first blocks of each thread. A program
//! with a small heap then needs no more memory than without huge pages, and neither does one
//! with a thousand threads that have a few blocks each.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::extent::slice_bitmap::SLICE;
use crate::extent::usage;
use crate::sys;

/// A larger range (bytes) is no page of small blocks, and doesn't count for its thread.
const SMALL: usize = 512 << 10;

/// So many slices of small blocks each thread takes on base pages.
const YOUNG: u8 = 8;

/// How many slices threads have taken, up to [`YOUNG`], by the hash of the thread. A
/// collision, or a thread at the address of one that has ended, gets huge pages earlier.
static TAKEN: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

/// Whether a range that is taken into use belongs on base pages.
pub(super) fn is_on_base_pages(len: usize) -> bool {
    let is_young = len <= SMALL && is_young(len);
    is_young || usage::in_use() + len <= usage::SMALL_HEAP
}

/// Counts a range for this thread; whether the thread had few before.
fn is_young(len: usize) -> bool {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (sys::thread_name() as u64).wrapping_mul(SPREAD) >> (u64::BITS - 12);
    let counter = &TAKEN[usize::try_from(hash).unwrap_or(0)];
    let taken = counter.load(Ordering::Relaxed);
    if taken >= YOUNG {
        return false;
    }
    let slices = u8::try_from(len.div_ceil(SLICE)).unwrap_or(YOUNG);
    counter.store(taken.saturating_add(slices), Ordering::Relaxed);
    true
}
