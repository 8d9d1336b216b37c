//! Blocks that are aligned to more than an arena's slices, as programs ask for that put
//! their frames or tables on huge pages by themselves. mimalloc maps each of them by itself,
//! behind what it notes of it, and on huge pages that would take one more for its
//! beginning, and one for its end. Those that fill huge pages have an extent here, without
//! either; the others are on base pages, which is what they take elsewhere. Of address
//! space such a mapping has twice the alignment besides, which a limit counts: where that is
//! much, a block has an extent, too, however small it is.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::config;
use hugetools_pages::extent::Extent;
use hugetools_pages::extent::block_end::{self, LEFT_OVER};
use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::heap::commit::{self, Wish};
use hugetools_pages::sys::Result;

use crate::large_blocks::growing::{self, Space};
use crate::large_blocks::overcommit;
use crate::mimalloc::{layout, mi_malloc_aligned};

/// From this alignment on every block has an extent: a larger one than mimalloc's own.
const FAR: usize = 64 << 20;

/// How many threads have mimalloc map such a block just now.
static MAPPING: AtomicUsize = AtomicUsize::new(0);

/// A block of `size` bytes at a multiple of `alignment`, a power of two, or null.
#[inline]
pub(crate) fn create(alignment: usize, size: usize) -> *mut c_void {
    match alignment <= SLICE {
        true => mi_malloc_aligned(size, alignment),
        false => create_far(alignment, size),
    }
}

#[cold]
fn create_far(alignment: usize, size: usize) -> *mut c_void {
    // A libc maps as much more as the alignment is, and is refused what the machine has not.
    let with_room = size.saturating_add(alignment);
    if alignment > size && !overcommit::may_be_had(with_room) {
        return core::ptr::null_mut();
    }
    with_extent(alignment, size).unwrap_or_else(|| {
        MAPPING.fetch_add(1, Ordering::Relaxed);
        let block = mi_malloc_aligned(size, alignment);
        MAPPING.fetch_sub(1, Ordering::Relaxed);
        if !block.is_null() {
            block_end::note_plain();
        }
        block
    })
}

/// One with an extent of its own; `None` where it is not worth that, or there is no room
/// or memory for it.
fn with_extent(alignment: usize, size: usize) -> Option<*mut c_void> {
    let layout = layout::of_block(size);
    let is_worth_it = size >= layout.unit || alignment >= FAR || config::heap_is_strict();
    if !is_worth_it || !overcommit::may_be_had(size) {
        return None;
    }
    let space = Space {
        first: size,
        room: size,
        align: alignment,
    };
    growing::with_extent(space, layout, |extent| fill(extent, size))
}

/// Puts pages behind a block; base pages where its last huge page would be of little use.
fn fill(extent: &Extent, size: usize) -> Result<()> {
    let end = size % extent.layout.unit;
    let is_huge =
        block_end::is_worth_a_page(end, extent.layout.unit, size) || config::heap_is_strict();
    let whole = if is_huge { size } else { size - end };
    commit::commit(extent, extent.base, whole, layout::wish())?;
    if whole < size {
        block_end::note_plain();
        commit::commit(extent, extent.base + whole, end, Wish::Plain)?;
    }
    Ok(())
}

/// Whether a mapping of mimalloc's may be for such a block, which would leave over too
/// much of its first and its last huge page.
pub(crate) fn is_too_small(len: usize, unit: usize) -> bool {
    MAPPING.load(Ordering::Relaxed) > 0 && len / LEFT_OVER < 2 * unit
}
