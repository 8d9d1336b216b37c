//! Memory of ours that must stay ordinary, since the kernel writes to it by
//! itself and could not wait for a page: the stacks that the program has put
//! there. It does not move up to pages of a pool.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::extent::index;

/// So many ranges are known of each kind. With more, nothing moves up any more.
const PLACES: usize = 256;

/// What a range is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// Handlers of signals, or a coroutine.
    Signals,
    /// A thread, with all that libc keeps for it.
    Thread,
}

const KINDS: [Stack; 2] = [Stack::Signals, Stack::Thread];

impl Stack {
    fn ranges(self) -> &'static Ranges {
        static SIGNALS: Ranges = Ranges::none();
        static THREADS: Ranges = Ranges::none();
        match self {
            Stack::Signals => &SIGNALS,
            Stack::Thread => &THREADS,
        }
    }
}

/// Ranges that are known.
struct Ranges {
    places: [(AtomicUsize, AtomicUsize); PLACES],
    /// How many there were.
    count: AtomicUsize,
}

impl Ranges {
    const fn none() -> Ranges {
        Ranges {
            places: [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; PLACES],
            count: AtomicUsize::new(0),
        }
    }

    fn all(&self) -> impl Iterator<Item = Range<usize>> {
        self.places.iter().map(|(start, end)| {
            let end = end.load(Ordering::SeqCst);
            start.load(Ordering::SeqCst)..end
        })
    }

    fn is_full(&self) -> bool {
        self.count.load(Ordering::SeqCst) > PLACES
    }

    fn note(&self, range: &Range<usize>) {
        let is_known = |known: Range<usize>| known.start <= range.start && range.end <= known.end;
        if self.is_full() || self.all().any(is_known) {
            return;
        }
        if let Some((start, end)) = self.places.get(self.count.fetch_add(1, Ordering::SeqCst)) {
            start.store(range.start, Ordering::SeqCst);
            end.store(range.end, Ordering::SeqCst);
        }
    }
}

/// Notes a range, for as long as the process lives: it may be a stack again. To
/// be called before it is made ordinary. Of those for handlers the units are noted, which
/// are fewer.
pub fn keep(range: &Range<usize>, stack: Stack) {
    match stack {
        Stack::Signals => stack.ranges().note(&whole_units(range)),
        Stack::Thread => stack.ranges().note(range),
    }
}

fn whole_units(range: &Range<usize>) -> Range<usize> {
    let unit_at = |addr: usize| {
        let extent = index::extent_at(addr)?;
        let unit = extent.unit_at(addr);
        Some(extent.range_of(&(unit..unit + 1)))
    };
    let start = unit_at(range.start).map_or(range.start, |unit| unit.start);
    let end = range.end.checked_sub(1).and_then(unit_at);
    start..end.map_or(range.end, |unit| unit.end)
}

/// Whether a range may have any such memory.
pub fn meets(range: &Range<usize>) -> bool {
    KINDS.iter().any(|stack| stack.ranges().is_full()) || are_known_in(range)
}

/// Whether a range is known to have such memory.
pub fn are_known_in(range: &Range<usize>) -> bool {
    let meets = |known: Range<usize>| known.start < range.end && range.start < known.end;
    KINDS.iter().any(|stack| stack.ranges().all().any(meets))
}

/// As much of a range around an address as may be the stack of the thread whose stack the
/// address lies on; all of it where no such stack is known.
pub fn within_thread(at: usize, range: Range<usize>) -> Range<usize> {
    let threads = Stack::Thread.ranges();
    let meets = |known: &Range<usize>| known.start < range.end && range.start < known.end;
    // What is known may be of threads that have ended: it lies there among others.
    let hull =
        |one: Range<usize>, other: Range<usize>| one.start.min(other.start)..one.end.max(other.end);
    match threads.all().filter(meets).reduce(hull) {
        Some(stack) if stack.contains(&at) && !threads.is_full() => {
            range.start.max(stack.start)..range.end.min(stack.end)
        }
        _ => range,
    }
}

/// The ends of the stacks of threads that are known, where libc keeps what it knows
/// of them.
pub fn thread_ends() -> impl Iterator<Item = usize> {
    let ends = Stack::Thread.ranges().all().map(|range| range.end);
    ends.filter(|end| *end != 0).map(|end| end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_stays_and_too_many_stop_all() {
        let range = |at: usize| at << 20..(at << 20) + 4096;
        keep(&range(1), Stack::Signals);
        keep(&range(1), Stack::Signals);
        assert!(meets(&range(1)) && !meets(&range(2)));
        assert_eq!(thread_ends().count(), 0);
        keep(&range(2), Stack::Thread);
        assert!(meets(&range(2)) && thread_ends().eq([range(2).end - 1]));
        let around = |at: usize| at - 4096..at + 4096;
        let end = range(2).end;
        assert_eq!(
            within_thread(end - 96, around(end - 96)),
            range(2).start..end
        );
        assert_eq!(within_thread(end, around(end)), around(end));
        assert!(!meets(&range(3)));
        (3..3 + PLACES).for_each(|at| keep(&range(at), Stack::Signals));
        assert!(meets(&range(3)) && meets(&range(PLACES + 9)));
    }
}
