//! The heap of allocators that call `sbrk` themselves, such as tcmalloc. Each step is smaller than
//! a huge page, so a fault can't provide one. Whole huge pages below the break are collapsed at the
//! next step.
//!
//! The break itself isn't moved: libc tracks it. No locks: the addresses are hints.
#![expect(unsafe_code, reason = "collapses huge pages by address")]

use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::{advise, is_active, large};
use crate::kernel::facts;
use crate::policy::{start_facts, thp};
use crate::sys;

/// Lowest break seen; 0 before the first step.
static LOWEST_BREAK: AtomicUsize = AtomicUsize::new(0);

/// End of the collapsed part.
static COLLAPSED_END: AtomicUsize = AtomicUsize::new(0);

/// Advises and collapses memory after the program has raised its break from `was` by `grown` bytes.
pub fn break_moved(was: usize, grown: usize) {
    if !is_active() {
        return;
    }
    start_facts::take();
    let size = facts::thp_size();
    let (from, done) = (
        LOWEST_BREAK.load(Ordering::Relaxed),
        COLLAPSED_END.load(Ordering::Relaxed),
    );
    // The break may have been lowered meanwhile.
    let from = if from == 0 { was } else { from.min(was) };
    let first = from.checked_next_multiple_of(size).unwrap_or(from);
    let done = done.min(was / size * size).max(first);
    LOWEST_BREAK.store(from, Ordering::Relaxed);
    let end = was.saturating_add(grown);
    if end - from < large() || !thp::serves_mapping(grown) {
        return;
    }
    let low = from / sys::page_size() * sys::page_size();
    advise(low, end - low);
    // Memory below the old break is in use by now.
    let last = (was / size * size).max(done);
    if last > done {
        // SAFETY: the program's memory; the contents stay.
        let _ = unsafe { thp::collapse(done, last - done) };
    }
    COLLAPSED_END.store(last, Ordering::Relaxed);
}
