//! Large blocks that grow: each has a window of its own with room behind it,
//! so that it grows in place. Nothing is copied, and the program never has two
//! of it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::segment::GROWING_AREA;
use hugetools_pages::layout::Layout;
use hugetools_pages::slices::SLICE;
use hugetools_pages::window::Window;
use hugetools_pages::{back, facts, register};

use crate::{arena, room};

/// Smaller blocks are copied: that costs less than a window.
pub(crate) const SMALLEST: usize = 8 << 20;

/// So many windows at most, since the register has places for 512 and the
/// allocator needs some of them.
const MOST: usize = 128;

/// The room that a block has is the machine's memory, between these. Only twice
/// the block's size is reserved: a limit of address space counts that.
const LEAST_ROOM: usize = 16 << 30;
const MOST_ROOM: usize = 256 << 30;

/// How many such blocks there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many such blocks there are.
pub(crate) fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// All windows of such blocks.
pub(crate) fn windows() -> impl Iterator<Item = &'static Window> {
    register::windows().filter(|window| GROWING_AREA.contains(&(window.base as u64)))
}

/// The window of a block that is one of these.
pub(crate) fn window_of(block: *const c_void) -> Option<&'static Window> {
    let addr = block as usize;
    if !GROWING_AREA.contains(&(addr as u64)) {
        return None;
    }
    register::windows().find(|window| window.base == addr)
}

/// A block of `size` bytes with room to grow; `None` where one is not worth a
/// window, or there is no room or memory for it.
pub(crate) fn create(size: usize) -> Option<*mut c_void> {
    let layout = arena::layout();
    if size < least(&layout) || !room::may_be_had(size) {
        return None;
    }
    let twice = size.checked_mul(2)?;
    let memory = facts::total_memory().unwrap_or(LEAST_ROOM);
    let room = memory.clamp(LEAST_ROOM, MOST_ROOM).max(twice);
    if COUNT.fetch_add(1, Ordering::Relaxed) < MOST {
        let block = register::create_growing(room, twice, layout)
            .ok()
            .and_then(|window| filled(window, size));
        if block.is_some() {
            return block;
        }
    }
    COUNT.fetch_sub(1, Ordering::Relaxed);
    None
}

/// The least size that is worth a window: a block must fill the larger pages
/// that it takes.
fn least(layout: &Layout) -> usize {
    SMALLEST.max(4 * layout.unit).max(layout.big)
}

/// Puts memory behind a new window's block, or frees the window.
fn filled(window: &'static Window, size: usize) -> Option<*mut c_void> {
    match back::commit(window, window.base, size, arena::wish()) {
        Ok(_) => {
            arena::watch_growth();
            Some(window.base as *mut c_void)
        }
        Err(_) => {
            back::decommit(window, window.base, size);
            register::destroy(window);
            None
        }
    }
}

/// The bytes of a block that can be used.
pub(crate) fn len(window: &Window) -> usize {
    window.used_slices() * SLICE
}

/// Changes the size of a block in place; whether that was possible. After a
/// failure it is as it was.
pub(crate) fn resize(window: &'static Window, size: usize) -> bool {
    let old = len(window);
    let Some(new) = size.max(1).checked_next_multiple_of(SLICE) else {
        return false;
    };
    if new > window.len || new < least(&window.layout) / 2 {
        return false;
    }
    if new > old && !(room::may_be_had(new - old) && window.extend(new).is_ok()) {
        return false;
    }
    let end = window.base + old;
    if new < old {
        back::decommit(window, window.base + new, old - new);
    } else if new > old && back::commit(window, end, new - old, arena::wish()).is_err() {
        back::decommit(window, end, new - old);
        return false;
    }
    true
}

/// Frees a block.
pub(crate) fn free(window: &'static Window) {
    back::decommit(window, window.base, len(window));
    register::destroy(window);
    COUNT.fetch_sub(1, Ordering::Relaxed);
}
