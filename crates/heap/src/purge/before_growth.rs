//! Before a heap becomes larger than it ever was, what is free of it goes back:
//! mimalloc keeps that for a second, and where it does not suit what is wanted
//! now, the program would have both.
//!
//! That is tried each time the heap has grown by a part, and at no other time: a
//! program whose heap does not grow keeps what it frees for as long as ever.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::extent::{Holds, index, usage};
use hugetools_pages::heap::{commit, half_empty};
use hugetools_pages::sys;

use crate::large_blocks::{growing, mapped};
use crate::mimalloc::{self, nodes};
use crate::purge::idle;

/// The heap grows by one of so many parts from one try to the next.
const PARTS: usize = 32;

/// Where one of so many parts of what it has is free, huge pages are divided for
/// it, too.
const MUCH: usize = 16;

/// A smaller heap is not worth it.
const WORTH: usize = usage::SMALL_HEAP;

/// The most that was in use when it was tried.
static TRIED: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread tries just now.
static TRIES: AtomicBool = AtomicBool::new(false);

/// Which one, if huge pages are to be divided.
static DIVIDES: AtomicUsize = AtomicUsize::new(0);

/// To be called before `more` bytes are taken into use. With several memory nodes
/// what a thread has stays its own.
pub(crate) fn growing_by(more: usize) {
    if nodes::count() > 1 {
        return;
    }
    let tried = TRIED.load(Ordering::Relaxed);
    let now = usage::in_use().saturating_add(more);
    if now > WORTH && now > tried + tried / PARTS {
        give_back(now);
    }
}

/// Whether this thread is giving back what is free, and that is much.
pub(crate) fn is_dividing() -> bool {
    DIVIDES.load(Ordering::Relaxed) == sys::thread_name()
}

#[cold]
fn give_back(now: usize) {
    if TRIES.swap(true, Ordering::Acquire) {
        return;
    }
    TRIED.fetch_max(now, Ordering::Relaxed);
    let is_much = is_much_free();
    if is_much {
        DIVIDES.store(sys::thread_name(), Ordering::Relaxed);
    }
    idle::unnoticed(|| mimalloc::hugetools_give_back());
    DIVIDES.store(0, Ordering::Relaxed);
    // What was given back some time ago has left such pages, too.
    if is_much || half_empty::have_more_than(bytes_of_arenas() / MUCH, commit::LARGE) {
        half_empty::divide(commit::LARGE);
    }
    TRIES.store(false, Ordering::Release);
}

/// Whether much of what mimalloc has is free.
fn is_much_free() -> bool {
    let arenas = bytes_of_arenas();
    arenas.saturating_sub(mimalloc::hugetools_bytes_of_pages()) > arenas / MUCH
}

/// What mimalloc has for blocks that are not extents or arenas of their own.
fn bytes_of_arenas() -> usize {
    let has = index::look(|| {
        let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
        let bytes = extents.map(|extent| extent.used_slices() * SLICE);
        bytes.sum::<usize>()
    });
    let blocks = mapped::blocks().bytes + growing::bytes();
    has.saturating_sub(blocks)
}
