//! Ranges of our memory that the program has locked (`mlock(2)`). The kernel records no lock
//! of hugetlb pages, so memory that replaces them must be locked again.

use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::rt::lock::Lock;
use crate::rt::table_guard::TableGuard;
use crate::sys;

/// Maximum number of ranges. If there are more, all between the first and the last counts as
/// locked.
const SLOTS: usize = 64;

struct Table {
    lock: Lock,
    ranges: UnsafeCell<[(usize, usize); SLOTS]>,
}

#[expect(unsafe_code, reason = "shares the table between threads")]
// SAFETY: only the lock's holder changes the table.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    lock: Lock::new(),
    ranges: UnsafeCell::new([(0, 0); SLOTS]),
};

/// Number of ranges: without any, a call costs one load.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether new mappings are locked (`MCL_FUTURE`).
static LOCK_FUTURE: AtomicBool = AtomicBool::new(false);

/// Records that a range is locked.
pub fn add(range: &Range<usize>) {
    if range.is_empty() {
        return;
    }
    change(|ranges| {
        remove_from(ranges, range);
        let (mut start, mut end) = (range.start, range.end);
        if !ranges.iter().any(is_free) {
            for place in ranges.iter_mut() {
                (start, end) = (start.min(place.0), end.max(place.1));
                *place = (0, 0);
            }
        }
        put(ranges, start..end);
    });
}

/// Records that a range is not locked.
pub fn remove(range: &Range<usize>) {
    if COUNT.load(Ordering::Acquire) != 0 {
        change(|ranges| remove_from(ranges, range));
    }
}

/// Records whether new mappings are locked (`mlockall(2)`).
pub fn set_lock_future(locked: bool) {
    LOCK_FUTURE.store(locked, Ordering::Release);
}

/// Whether new mappings are locked.
pub fn locks_future() -> bool {
    LOCK_FUTURE.load(Ordering::Acquire)
}

/// Records a new mapping.
pub fn note_mapping(range: &Range<usize>) {
    remove(range);
    if locks_future() {
        add(range);
    }
}

/// Records that nothing is locked (`munlockall(2)`).
pub fn clear() {
    set_lock_future(false);
    if COUNT.load(Ordering::Acquire) != 0 {
        change(|ranges| ranges.fill((0, 0)));
    }
}

/// Locks the recorded parts of a range again after its memory was replaced, and unlocks the
/// rest, which `MCL_FUTURE` has locked. Takes no lock of ours: a fork calls it.
pub fn restore(range: &Range<usize>) {
    if locks_future() {
        let _ = sys::munlock(range.start, range.len());
    }
    if COUNT.load(Ordering::Acquire) != 0 {
        for place in 0..SLOTS {
            let (from, to) = read_slot(place);
            let (start, end) = (from.max(range.start), to.min(range.end));
            if start < end {
                let _ = sys::mlock(start, end - start);
            }
        }
    }
}

#[expect(unsafe_code, reason = "reads the table without its lock")]
fn read_slot(place: usize) -> (usize, usize) {
    let table = TABLE.ranges.get().cast::<(usize, usize)>();
    // SAFETY: within the table.
    let at = unsafe { table.add(place) };
    // SAFETY: likewise. A concurrent change may tear the pair: then too much or too little of the
    // caller's range is locked.
    unsafe { at.read_volatile() }
}

fn change(change: impl FnOnce(&mut [(usize, usize); SLOTS])) {
    let _turn = TableGuard::take(&TABLE.lock);
    #[expect(unsafe_code, reason = "reaches into the table")]
    // SAFETY: the lock is held.
    let ranges = unsafe { &mut *TABLE.ranges.get() };
    change(ranges);
    let count = ranges.iter().filter(|place| !is_free(place)).count();
    COUNT.store(count, Ordering::Release);
}

fn is_free(place: &(usize, usize)) -> bool {
    place.0 >= place.1
}

fn put(ranges: &mut [(usize, usize); SLOTS], range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    if let Some(place) = ranges.iter_mut().find(|place| is_free(place)) {
        *place = (range.start, range.end);
    }
}

fn remove_from(ranges: &mut [(usize, usize); SLOTS], range: &Range<usize>) {
    for place in 0..SLOTS {
        let (start, end) = ranges[place];
        let is_middle = start < range.start && range.end < end;
        if is_middle && !ranges.iter().any(is_free) {
            // No slot for the second part: keep too much rather than too little.
            continue;
        }
        if start < range.end && range.start < end {
            ranges[place] = (0, 0);
            put(ranges, start..range.start.max(start));
            put(ranges, range.end.min(end)..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_and_removed() {
        let mut ranges = [(0, 0); SLOTS];
        put(&mut ranges, 10..50);
        remove_from(&mut ranges, &(20..30));
        let mut left: Vec<_> = ranges.into_iter().filter(|place| !is_free(place)).collect();
        left.sort_unstable();
        assert_eq!(left, [(10, 20), (30, 50)]);
        remove_from(&mut ranges, &(0..100));
        assert!(ranges.iter().all(is_free));
    }

    /// Unlocking the middle leaves two parts, for which there may be no slot.
    #[test]
    fn a_full_table_forgets_nothing_that_is_locked() {
        let mut ranges: [_; SLOTS] = core::array::from_fn(|at| (at * 100, at * 100 + 50));
        remove_from(&mut ranges, &(310..320));
        assert_eq!(ranges[3], (300, 350));
        remove_from(&mut ranges, &(310..350));
        assert_eq!(ranges[3], (300, 310));
        assert_eq!(ranges.iter().filter(|place| !is_free(place)).count(), SLOTS);
    }
}
