//! Blocks of the program with extents of their own, which mimalloc maps by itself.

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::extent::{Extent, index, room};
use hugetools_pages::heap::commit;
use hugetools_pages::sys::Result;

use crate::large_blocks::aligned;
use crate::mimalloc::layout::{of_block, watch_growth, wish};

/// Blocks of the program with extents of their own: how many, and their bytes.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static BLOCK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// So many of them at most, since the register has places for 512 extents.
const MOST_BLOCKS: usize = 160;

/// A block of the program that mimalloc maps by itself, since it is too large
/// or too far aligned for an arena: an extent of its own, all in use. `None`
/// where there is no place for an extent, or it is not worth one.
pub(crate) fn map_block(len: usize) -> Option<Result<usize>> {
    let layout = of_block(len);
    if BLOCKS.load(Ordering::Relaxed) >= MOST_BLOCKS
        || aligned::is_too_small(len, layout.unit)
        || !has_room_behind(len, layout.unit)
    {
        return None;
    }
    let extent = index::create(0, len, layout.unit, layout).ok()?;
    if let Err(error) = commit::commit(extent, extent.base, len, wish()) {
        commit::decommit(extent, extent.base, len);
        index::destroy(extent);
        return Some(Err(error));
    }
    BLOCKS.fetch_add(1, Ordering::Relaxed);
    BLOCK_BYTES.fetch_add(bytes_of(extent), Ordering::Relaxed);
    watch_growth();
    Some(Ok(extent.base))
}

/// Whether there is address space for the rest of a block's last huge page, which it does
/// not use: little to the block, or to what a limit leaves.
fn has_room_behind(len: usize, unit: usize) -> bool {
    let rest = len.next_multiple_of(unit) - len;
    rest <= len / 16 || rest <= room::ahead() / 256
}

/// Unmaps a part of a block, or all of it; `false` where it is none of ours.
pub(crate) fn unmap_block(addr: usize, len: usize) -> bool {
    let Some(extent) = index::extent_at(addr) else {
        return false;
    };
    let before = bytes_of(extent);
    commit::decommit(extent, addr, len);
    let left = bytes_of(extent);
    BLOCK_BYTES.fetch_sub(before - left, Ordering::Relaxed);
    if left == 0 {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        index::destroy(extent);
    }
    true
}

fn bytes_of(extent: &Extent) -> usize {
    extent.used_slices() * SLICE
}

/// Blocks with extents of their own, but for those that grow.
pub(crate) struct Blocks {
    /// How many.
    pub(crate) count: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
}

/// The blocks of [`map_block`].
pub(crate) fn blocks() -> Blocks {
    Blocks {
        count: BLOCKS.load(Ordering::Relaxed),
        bytes: BLOCK_BYTES.load(Ordering::Relaxed),
    }
}
