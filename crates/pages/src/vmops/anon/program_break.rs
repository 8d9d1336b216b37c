//! The end of the data segment, which some allocators move by themselves, as tcmalloc does:
//! step by step, each smaller than a huge page. So none comes by a fault there; what was
//! used is collapsed once the end is a huge page further on.
//!
//! The end stays where the program has set it: libc moves it, too, and knows only of its
//! own steps.
//!
//! No locks: each word is a hint for what changes no contents.
#![expect(unsafe_code, reason = "collapses huge pages by address")]

use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::{advise, is_active, large};
use crate::kernel::facts;
use crate::policy::{first_look, thp};
use crate::sys;

/// Where the program's own steps begin; 0 before the first.
static FROM: AtomicUsize = AtomicUsize::new(0);

/// All below was collapsed.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// After the program has moved the end from `was` on by so many bytes.
pub fn break_moved(was: usize, grown: usize) {
    if !is_active() {
        return;
    }
    first_look::take();
    let size = facts::thp_size();
    let (from, done) = (FROM.load(Ordering::Relaxed), DONE.load(Ordering::Relaxed));
    // It may have gone back meanwhile.
    let from = if from == 0 { was } else { from.min(was) };
    let done = done.min(was / size * size).max(first(from, size));
    FROM.store(from, Ordering::Relaxed);
    let end = was.saturating_add(grown);
    if end - from < large() || !thp::serves_mapping(grown) {
        return;
    }
    let page = sys::page_size();
    let low = if was - from < large() { from } else { was };
    let low = low / page * page;
    advise(low, end - low);
    // What lies below was used, as far as it will be.
    let last = (was / size * size).max(done);
    if last > done {
        // SAFETY: memory of the program's, of which the contents stay.
        let _ = unsafe { thp::collapse(done, last - done) };
    }
    DONE.store(last, Ordering::Relaxed);
}

fn first(from: usize, size: usize) -> usize {
    from.checked_next_multiple_of(size).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_first_huge_page_may_be() {
        let size = 2 << 20;
        assert_eq!(first(5 << 20, size), 6 << 20);
        assert_eq!(first(6 << 20, size), 6 << 20);
        assert_eq!(first(usize::MAX - 1, size), usize::MAX - 1);
    }

    #[test]
    fn nothing_is_noted_of_what_nobody_asked_for() {
        break_moved(1 << 30, 64 << 20);
        assert_eq!(FROM.load(Ordering::Relaxed), 0);
    }
}
