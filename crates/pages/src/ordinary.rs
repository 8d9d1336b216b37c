//! Memory of ours that must stay ordinary, since the kernel writes to it by
//! itself and could not wait for a page: the stacks that the program has put
//! there. It does not move up to pages of a pool.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

/// So many ranges are known. With more, nothing moves up any more.
const PLACES: usize = 64;

static RANGES: [(AtomicUsize, AtomicUsize); PLACES] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; PLACES];

/// How many there were.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Notes a range, for as long as the process lives: it may be a stack again. To
/// be called before it is made ordinary.
pub fn keep(range: &Range<usize>) {
    let known = RANGES.iter().any(|(start, end)| {
        let end = end.load(Ordering::SeqCst);
        start.load(Ordering::SeqCst) <= range.start && range.end <= end
    });
    if known || COUNT.load(Ordering::SeqCst) > PLACES {
        return;
    }
    if let Some((start, end)) = RANGES.get(COUNT.fetch_add(1, Ordering::SeqCst)) {
        start.store(range.start, Ordering::SeqCst);
        end.store(range.end, Ordering::SeqCst);
    }
}

/// Whether a range has any such memory.
pub fn meets(range: &Range<usize>) -> bool {
    COUNT.load(Ordering::SeqCst) > PLACES
        || RANGES.iter().any(|(start, end)| {
            let end = end.load(Ordering::SeqCst);
            start.load(Ordering::SeqCst) < range.end && range.start < end
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_stays_and_too_many_stop_all() {
        let range = |at: usize| at << 20..(at << 20) + 4096;
        keep(&range(1));
        keep(&range(1));
        assert!(meets(&range(1)) && !meets(&range(2)));
        (3..3 + PLACES).for_each(|at| keep(&range(at)));
        assert!(meets(&range(3)) && meets(&range(2)));
    }
}
