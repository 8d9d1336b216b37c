//! Private hugetlb memory moves to ordinary memory.
//!
//! A private hugetlb page that is written after a fork needs a second page of
//! the pool; where there is none, the writer dies. Ordinary memory has no such
//! end, and is as fast. So it is copied once, piece by piece, and the pool's
//! pages are free for others.

use crate::extent::{Extent, Holds};
use crate::migrate::off_pool;
use crate::migrate::shield::Shield;
use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::required;

use crate::migrate::runs;

/// At most so many pieces, since each is a mapping of its own and a process
/// may have 65530.
const MOST_PIECES: usize = 8192;

/// Moves what these extents have on pools, `total` bytes; returns how many moved. Piece by
/// piece: memory is needed twice for no more than that, and nobody waits for long.
pub(super) fn evacuate(
    extents: impl Iterator<Item = &'static Extent>,
    total: usize,
    shield: &Shield,
) -> usize {
    let piece = shield.piece().max(total / MOST_PIECES);
    let mut moved = 0;
    for extent in extents {
        if extent.holds == Holds::Heap && runs::hugetlb_bytes(extent) > 0 {
            // Before the first page has gone: a report may be made meanwhile.
            required::heap_moves();
        }
        moved += move_extent(extent, piece, shield);
        // What is left had no address space to spare, but for one page.
        moved += move_extent(extent, 0, shield);
    }
    pool_backoff::BACKOFF.note(Shortfall::Fork);
    moved
}

/// Moves one extent; how many bytes in use were moved.
fn move_extent(extent: &Extent, piece: usize, shield: &Shield) -> usize {
    let pieces = runs::pieces(extent, piece);
    pieces
        .filter_map(|(units, state)| off_pool::move_units(extent, units, state, shield).ok())
        .sum()
}

/// Says what was done.
pub(super) fn report(moved: usize) {
    if moved > 0 {
        pool_backoff::say_moved(moved);
        required::heap_moved(moved, "before a fork");
    }
    let left: usize = runs::writable().map(runs::hugetlb_bytes).sum();
    if left > 0 {
        let why = "since they are in use or there is no address space for a copy";
        pool_backoff::say_left(left, &why);
    }
}
