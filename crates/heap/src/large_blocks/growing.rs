//! Large blocks that grow: each has an extent of its own with room behind it,
//! so that it grows in place. Nothing is copied, and the program never has two
//! of it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::segment::GROWING_AREA;
pub(crate) use hugetools_pages::extent::address_space::Space;
use hugetools_pages::extent::page_sizes::Layout;
use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::extent::{Extent, index, room};
use hugetools_pages::heap::commit;
use hugetools_pages::kernel::facts;
use hugetools_pages::sys::Result;

use crate::large_blocks::overcommit;
use crate::mimalloc::layout;

/// Smaller blocks are copied: that costs less than an extent.
pub(crate) const SMALLEST: usize = 8 << 20;

/// So many extents at most, since the register has places for 512 and the
/// allocator needs some of them.
const MOST: usize = 256;

/// The room that a block has is the machine's memory, between these. Only twice
/// the block's size is reserved, or less: a limit of address space counts that.
const LEAST_ROOM: usize = 16 << 30;
const MOST_ROOM: usize = 256 << 30;

/// How many such blocks there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many such blocks there are.
pub(crate) fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// The bytes of all such blocks.
pub(crate) fn bytes() -> usize {
    let is_one = |extent: &&Extent| GROWING_AREA.contains(&(extent.base as u64));
    // Other threads free theirs meanwhile.
    index::look(|| index::extents().filter(is_one).map(len).sum())
}

/// The extent of a block that is one of these.
pub(crate) fn extent_of(block: *const c_void) -> Option<&'static Extent> {
    let addr = block as usize;
    if !GROWING_AREA.contains(&(addr as u64)) {
        return None;
    }
    index::extent_from(addr)
}

/// A block of `size` bytes with room to grow; `None` where one is not worth an
/// extent, or there is no room or memory for it.
pub(crate) fn create(size: usize) -> Option<*mut c_void> {
    let layout = layout::layout();
    if size < least(&layout) || !overcommit::may_be_had(size) {
        return None;
    }
    let twice = size.checked_mul(2)?;
    let memory = facts::total_memory().unwrap_or(LEAST_ROOM);
    let most = memory.clamp(LEAST_ROOM, MOST_ROOM).max(twice);
    let space = Space {
        first: size.saturating_add(size.min(room::ahead())),
        room: most,
        align: layout.unit,
    };
    with_extent(space, layout, |extent| {
        commit::commit(extent, extent.base, size, layout::wish()).map(|_| ())
    })
}

/// A block at the beginning of an extent for it alone; `fill` puts memory behind it.
/// `None` where there are enough of such, or there is no room or memory for it.
pub(crate) fn with_extent(
    space: Space,
    layout: Layout,
    fill: impl FnOnce(&Extent) -> Result<()>,
) -> Option<*mut c_void> {
    if COUNT.fetch_add(1, Ordering::Relaxed) < MOST {
        let create = || index::create_growing(space, layout).ok();
        let block = create().and_then(|extent| filled(extent, fill));
        if block.is_some() {
            return block;
        }
    }
    COUNT.fetch_sub(1, Ordering::Relaxed);
    None
}

/// The least size that is worth an extent: a block must fill the larger pages
/// that it takes.
fn least(layout: &Layout) -> usize {
    SMALLEST.max(4 * layout.unit).max(layout.big)
}

/// Puts memory behind a new extent's block, or frees the extent.
fn filled(
    extent: &'static Extent,
    fill: impl FnOnce(&Extent) -> Result<()>,
) -> Option<*mut c_void> {
    match fill(extent) {
        Ok(()) => {
            layout::watch_growth();
            Some(extent.base as *mut c_void)
        }
        Err(_) => {
            commit::decommit(extent, extent.base, len(extent));
            index::destroy(extent);
            None
        }
    }
}

/// The bytes of a block that can be used.
pub(crate) fn len(extent: &Extent) -> usize {
    extent.used_slices() * SLICE
}

/// Changes the size of a block in place; whether that was possible. After a
/// failure it is as it was.
pub(crate) fn resize(extent: &'static Extent, size: usize) -> bool {
    let old = len(extent);
    let Some(new) = size.max(1).checked_next_multiple_of(SLICE) else {
        return false;
    };
    if new > extent.len || new < least(&extent.layout) / 2 {
        return false;
    }
    if new > old && !(overcommit::may_be_had(new - old) && extent.extend(new, room::ahead).is_ok())
    {
        return false;
    }
    new == old || set_len(extent, old, new)
}

/// Takes pages for more of a block, or gives some back; whether it has its new length.
fn set_len(extent: &Extent, old: usize, new: usize) -> bool {
    let end = extent.base + old;
    if new < old {
        commit::decommit(extent, extent.base + new, old - new);
    } else if commit::commit(extent, end, new - old, layout::wish()).is_err() {
        commit::decommit(extent, end, new - old);
        return false;
    }
    true
}

/// Frees a block.
pub(crate) fn free(extent: &'static Extent) {
    commit::decommit(extent, extent.base, len(extent));
    index::destroy(extent);
    COUNT.fetch_sub(1, Ordering::Relaxed);
}
