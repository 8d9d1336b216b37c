//! Small mappings that name no place: the kernel lays each beside the last, and merges
//! them. So LuaJIT's memory grows, 128 kB by 128 kB from above, and that of Python's small
//! objects. None of them is as long as a huge page, but together they are: one is put
//! together once most of it was used, and mappings have gone on by one more, or elsewhere.
//!
//! They are not advised: each keeps merging with the next, so that the program can treat
//! them as what they are without us.
//!
//! No locks: see [`crate::registry::rows`].
#![expect(unsafe_code, reason = "puts huge pages together by address")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::{Call, is_active, range};
use super::steps::Missed;
use crate::kernel::{facts, pagemap};
use crate::policy::thp;
use crate::registry::rows::{self as registry, Grown};
use crate::sys::{self, Errno};

const OPEN: c_int = libc::PROT_READ | libc::PROT_WRITE;

static MISSED: Missed = Missed::new();

/// After a mapping was made at `at`.
pub(super) fn mapped(call: &Call, at: usize) {
    let size = facts::thp_size();
    if !is_one(call, size) {
        return;
    }
    let Some(mapping) = range(at, call.len) else {
        return;
    };
    let Some(grown) = registry::add(&mapping) else {
        return ended(size);
    };
    let due = due(&grown, size);
    EDGE.store(pack(&edge(&grown, size), size), Ordering::Relaxed);
    if due.is_empty() || !thp::serves_mapping(due.len()) {
        return;
    }
    MISSED.again(size, |huge| holds(&grown.row, huge) && is_used(huge));
    put_together(&due, size);
}

/// Whether a mapping may be one of many: not one of few pages, which each thread or
/// coroutine may have for itself.
fn is_one(call: &Call, size: usize) -> bool {
    let is_small = (size / 32..size).contains(&call.len);
    is_small && call.prot == OPEN && !call.names_its_place()
}

/// So many huge pages are put together by one call, by how many the row has: each call
/// waits for all processors once.
fn at_once(row: usize) -> usize {
    match row {
        0..32 => 1,
        32..128 => 2,
        128..256 => 4,
        _ => 8,
    }
}

/// Which huge pages are whole now, and one more besides.
fn due(grown: &Grown, size: usize) -> Range<usize> {
    let Grown { row, was } = grown;
    let unit = at_once(row.len() / size) * size;
    let lowest = |start: usize| (start + size).next_multiple_of(unit);
    let highest = |end: usize| (end - size) / unit * unit;
    let due = match row.start < was.start {
        true => lowest(row.start)..lowest(was.start).min(row.end / size * size),
        false => highest(was.end).max(row.start.next_multiple_of(size))..highest(row.end),
    };
    match due.is_empty() {
        true => 0..0,
        false => due,
    }
}

/// The huge pages of the row that grew last which are whole and not due yet: where they
/// begin, and in the low bits how many they are.
static EDGE: AtomicUsize = AtomicUsize::new(0);

fn pack(edge: &Range<usize>, size: usize) -> usize {
    match edge.is_empty() {
        true => 0,
        false => edge.start | (edge.len() / size),
    }
}

fn unpack(word: usize, size: usize) -> Range<usize> {
    let (start, pages) = (word & !(size - 1), word & (size - 1));
    start..start + pages * size
}

/// See [`EDGE`].
fn edge(Grown { row, was }: &Grown, size: usize) -> Range<usize> {
    let unit = at_once(row.len() / size) * size;
    let whole = row.start.next_multiple_of(size)..row.end / size * size;
    match row.start < was.start {
        true => whole.start..((row.start + size).next_multiple_of(unit)).min(whole.end),
        false => ((row.end - size) / unit * unit).max(whole.start)..whole.end,
    }
}

/// Another row has begun: nothing may come to what the last one has put off.
fn ended(size: usize) {
    let left = match EDGE.load(Ordering::Relaxed) {
        0 => return,
        _ => unpack(EDGE.swap(0, Ordering::Relaxed), size),
    };
    if !left.is_empty() && thp::serves_mapping(left.len()) {
        put_together(&left, size);
    }
}

fn holds(row: &Range<usize>, huge: &Range<usize>) -> bool {
    row.start <= huge.start && huge.end <= row.end
}

/// Whether most of a huge page is there: of stacks, a row of which looks the same, little
/// is. No where it cannot be told.
fn is_used(huge: &Range<usize>) -> bool {
    let whole = huge.len() / sys::page_size();
    pagemap::private_in(huge.clone()).is_ok_and(|there| there >= whole - whole / 8)
}

/// Puts huge pages together of which most is there.
pub(super) fn put_together(due: &Range<usize>, size: usize) {
    let each = || due.clone().step_by(size).map(|at| at..at + size);
    let together = |range: Range<usize>| {
        // SAFETY: memory of the program's, of which the contents stay.
        unsafe { thp::collapse(range.start, range.len()) }
    };
    let all = each().all(|huge| is_used(&huge));
    if all && together(due.clone()) != Err(Errno(libc::EAGAIN)) {
        return;
    }
    for huge in each().filter(is_used) {
        MISSED.together(huge.start, size);
    }
}

/// After the program has changed what may be done with memory.
pub(super) fn protected(addr: usize, len: usize, prot: c_int) {
    if prot != OPEN {
        gone(addr, len);
    }
}

/// After something else has come to lie there, or nothing.
pub(super) fn gone(addr: usize, len: usize) {
    if registry::is_empty() || !is_active() {
        return;
    }
    if let Some(range) = range(addr, len) {
        registry::cut(&range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 2 << 20;
    const KIB: usize = 1 << 10;

    fn grown(was: Range<usize>, row: Range<usize>) -> Range<usize> {
        due(&Grown { row, was }, SIZE)
    }

    #[test]
    fn a_huge_page_is_due_with_the_next_one() {
        let end = 10 * SIZE + 128 * KIB;
        let from = |start: usize| grown(start + 128 * KIB..end, start..end);
        for (start, first) in [
            (9 * SIZE, None),
            (8 * SIZE + 128 * KIB, None),
            (8 * SIZE, Some(9)),
            (8 * SIZE - 128 * KIB, None),
            (7 * SIZE, Some(8)),
        ] {
            let due = first.map_or(0..0, |at| at * SIZE..(at + 1) * SIZE);
            assert_eq!(from(start), due, "{start:#x}");
        }
    }

    #[test]
    fn so_it_is_upwards() {
        let start = 10 * SIZE - 128 * KIB;
        let to = |end: usize| grown(start..end - 128 * KIB, start..end);
        assert_eq!(to(11 * SIZE), 0..0);
        assert_eq!(to(12 * SIZE), 10 * SIZE..11 * SIZE);
        assert_eq!(to(12 * SIZE + 128 * KIB), 0..0);
    }

    #[test]
    fn a_long_row_is_put_together_in_larger_parts() {
        let mut all = 0;
        let mut calls = 0;
        let (mut was, end) = (200 * SIZE - 128 * KIB, 200 * SIZE);
        while was > 10 * SIZE {
            let start = was - 128 * KIB;
            let due = grown(was..end, start..end);
            if !due.is_empty() {
                assert!(start + SIZE <= due.start && due.end <= end, "{due:x?}");
                calls += 1;
                all += due.len() / SIZE;
            }
            was = start;
        }
        // Some parts were done before they became parts of larger ones.
        assert!((182..200).contains(&all) && calls < 100, "{all} {calls}");
    }

    #[test]
    fn what_is_put_off_is_known() {
        let of = |was, row| {
            let edge = edge(&Grown { row, was }, SIZE);
            let word = pack(&edge, SIZE);
            assert!(edge.is_empty() && word == 0 || unpack(word, SIZE) == edge);
            edge
        };
        let end = 10 * SIZE + 128 * KIB;
        assert_eq!(
            of(9 * SIZE..end, 9 * SIZE - 128 * KIB..end),
            9 * SIZE..10 * SIZE
        );
        assert_eq!(
            of(8 * SIZE..end, 8 * SIZE - 128 * KIB..end),
            8 * SIZE..9 * SIZE
        );
        let start = 10 * SIZE - 128 * KIB;
        assert_eq!(
            of(start..11 * SIZE, start..11 * SIZE + 1),
            10 * SIZE..11 * SIZE
        );
        assert!(of(start..10 * SIZE, start..10 * SIZE + 128 * KIB).is_empty());
    }

    #[test]
    fn which_mappings_are_meant() {
        let call = Call {
            addr: 0,
            len: 128 * KIB,
            prot: OPEN,
            flags: libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        };
        let fixed = call.flags | libc::MAP_FIXED;
        let is_meant = |call| is_one(&call, SIZE);
        assert!(is_meant(call) && is_meant(Call { addr: SIZE, ..call }));
        assert!(!is_meant(Call {
            flags: fixed,
            ..call
        }));
        assert!(!is_meant(Call { len: SIZE, ..call }) && !is_meant(Call { len: 4096, ..call }));
        let prot = libc::PROT_NONE;
        assert!(!is_meant(Call { prot, ..call }));
    }
}
