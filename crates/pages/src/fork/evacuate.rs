//! Moves all private hugetlb memory to ordinary memory.

use crate::extent::{Extent, Holds};
use crate::migrate::shield::Shield;
use crate::migrate::{off_pool, runs};
use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::required;
use crate::sys::NoSignals;

use super::blocker::{Blocker, shield_for};

/// Maximum number of pieces: each is a VMA of its own, and a process may have 65530.
const MOST_PIECES: usize = 8192;

/// Moves it; returns the bytes moved. `None` if there is none.
pub(super) fn leave_pools() -> Option<Result<usize, Blocker>> {
    let total = runs::total_bytes();
    if total == 0 {
        return None;
    }
    // A signal handler in this thread that writes there would deadlock.
    let _quiet = NoSignals::where_allowed();
    Some(shield_for(total).map(|shield| move_all(total, &shield)))
}

/// Moves `total` bytes, in pieces to limit the memory that exists twice; returns how many moved.
fn move_all(total: usize, shield: &Shield) -> usize {
    let piece = shield.piece_len().max(total / MOST_PIECES);
    let mut moved = 0;
    for extent in runs::writable() {
        if extent.holds == Holds::Heap && runs::hugetlb_bytes(extent) > 0 {
            // Noted before the move: a report may be written meanwhile.
            required::note_heap_move();
        }
        moved += move_extent(extent, piece, shield);
        // Retries page by page: one page in use (another thread's commit, the stack of a
        // coroutine) or too little address space for a copy keeps a whole piece.
        moved += move_extent(extent, 0, shield);
    }
    pool_backoff::BACKOFF.note(Shortfall::Fork);
    moved
}

/// Moves one extent; returns the bytes in use that moved.
fn move_extent(extent: &Extent, piece: usize, shield: &Shield) -> usize {
    let pieces = runs::pieces(extent, piece);
    pieces
        .filter_map(|(units, state)| off_pool::move_units(extent, units, state, shield).ok())
        .sum()
}

/// Reports a move before a fork, and what it has left on the pools.
pub(super) fn report(moved: usize) {
    if moved > 0 {
        pool_backoff::say_moved(moved);
        required::report_heap_moved(moved, "before a fork");
    }
    let left = runs::total_bytes();
    if left > 0 {
        let why = "since they are in use or there is no memory or address space for a copy";
        pool_backoff::say_left(left, &why);
    }
}
