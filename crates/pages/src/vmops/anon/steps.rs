//! Memory that a program takes step by step, each smaller than a huge page, and uses
//! before it takes the next, as the JVM's serial collector and Haskell's do within what
//! they have reserved. Where a step ends no huge page comes by itself: what was used of one
//! is put together once the step that fills it has been mapped.
//!
//! No locks: each word is a hint for what changes no contents.
#![expect(unsafe_code, reason = "puts huge pages together by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::Call;
use crate::kernel::facts;
use crate::policy::thp;
use crate::registry::anon as registry;
use crate::sys::Errno;

/// Huge pages that could not be put together since something else had their pages in
/// use for a moment, as other threads do that fill them. Each is tried again with the
/// steps that follow.
pub(super) struct Missed([AtomicUsize; 16]);

/// So often a huge page is tried; in the low bits of its address, with which it is noted.
const TRIES: usize = 8;
const LOW: usize = 0xfff;

impl Missed {
    pub(super) const fn new() -> Missed {
        Missed([const { AtomicUsize::new(0) }; 16])
    }

    /// Puts a huge page together, of which the contents stay.
    pub(super) fn together(&self, at: usize, size: usize) {
        self.attempt(at, size, 1);
    }

    /// Tries again what could not be had before, where it still is what it was.
    pub(super) fn again(&self, size: usize, still: impl Fn(&Range<usize>) -> bool) {
        for place in &self.0 {
            let noted = match place.load(Ordering::Relaxed) {
                0 => continue,
                _ => place.swap(0, Ordering::Relaxed),
            };
            let (at, tries) = (noted & !LOW, noted & LOW);
            if noted != 0 && still(&(at..at + size)) {
                self.attempt(at, size, tries + 1);
            }
        }
    }

    fn attempt(&self, at: usize, size: usize, tries: usize) {
        // SAFETY: memory of the program's, of which the contents stay. What has no page yet
        // gets a huge one when it is touched.
        let done = unsafe { thp::collapse(at, size) };
        if done == Err(Errno(libc::EAGAIN)) && tries < TRIES {
            self.note(at | tries);
        }
    }

    fn note(&self, what: usize) {
        let take = |place: &AtomicUsize| {
            let taken = place.compare_exchange(0, what, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        };
        let _ = self.0.iter().any(take);
    }
}

static MISSED: Missed = Missed::new();

/// The huge pages of late steps, each in the place that its number gives: where the same
/// step is taken again and again, its huge page is put together once.
static SEEN: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// After memory was mapped that is advised, where the program has named the place.
pub(super) fn mapped(call: &Call, at: usize) {
    if !call.names_its_place() || !call.is_writable() {
        return;
    }
    let size = facts::thp_size();
    let is_known = |huge: &Range<usize>| registry::holding(huge).is_some_and(|it| it.is_advised);
    let Some(huge) = filled(at, call.len, size).filter(|huge| is_known(huge)) else {
        return;
    };
    MISSED.again(size, is_known);
    if is_new(huge.start, size) {
        MISSED.together(huge.start, size);
    }
}

/// The huge page that lies before a step in part, and that the step fills. Less than a
/// thirty-second of it, 64 kB as a rule, is no step that is worth a copy.
fn filled(at: usize, len: usize, size: usize) -> Option<Range<usize>> {
    let start = at / size * size;
    let end = start.checked_add(size)?;
    let is_filled = start < at && at.checked_add(len)? >= end;
    (is_filled && len >= size / 32).then_some(start..end)
}

fn is_new(at: usize, size: usize) -> bool {
    SEEN[at / size % SEEN.len()].swap(at, Ordering::Relaxed) != at
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 2 << 20;
    const KIB: usize = 1 << 10;

    #[test]
    fn what_a_step_fills() {
        let first = Some(SIZE..2 * SIZE);
        for (at, len, huge) in [
            (SIZE, SIZE, None),
            (SIZE, SIZE / 2, None),
            (SIZE + SIZE / 2, SIZE / 2, first.clone()),
            (SIZE + SIZE / 2, 64 * SIZE, first.clone()),
            (SIZE + SIZE / 2, SIZE / 2 - 4 * KIB, None),
            (2 * SIZE - 64 * KIB, 64 * KIB, first),
            (2 * SIZE - 4 * KIB, 4 * KIB, None),
            (usize::MAX - 4 * KIB, SIZE, None),
        ] {
            assert_eq!(filled(at, len, SIZE), huge, "{at:#x} {len:#x}");
        }
    }

    #[test]
    fn the_same_one_is_new_once() {
        assert!(is_new(40 * SIZE, SIZE) && !is_new(40 * SIZE, SIZE));
        assert!(is_new(41 * SIZE, SIZE) && is_new((40 + 64) * SIZE, SIZE));
        assert!(is_new(40 * SIZE, SIZE));
    }

    #[test]
    fn what_was_missed_is_tried_while_it_is_there() {
        let missed = Missed::new();
        missed.note(SIZE | 1);
        missed.note((3 * SIZE) | TRIES);
        let looked = AtomicUsize::new(0);
        // Nobody's memory: no error that is worth another try.
        let still = |huge: &Range<usize>| {
            looked.fetch_add(huge.start, Ordering::Relaxed);
            huge.start == SIZE
        };
        missed.again(SIZE, still);
        missed.again(SIZE, still);
        assert_eq!(looked.load(Ordering::Relaxed), 4 * SIZE);
    }
}
