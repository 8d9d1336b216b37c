//! Small mappings of one size that a program makes one by one, each somewhere else, and
//! that are placed side by side instead, so that huge pages can hold them: which places
//! are taken, and of which huge pages all may be written.
//!
//! No locks: a bit is a hint. The kernel says whether a place is free indeed, and what is
//! put together keeps its contents. A place that is thought to be taken and is not stays
//! empty.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// So many areas there may be, each of so many places: 32 GiB of pieces of 256 kB.
const AREAS: usize = 32;
const PLACES: usize = 4096;
const BITS: usize = 64;

type Bits = [AtomicU64; PLACES / BITS];

#[expect(
    clippy::declare_interior_mutable_const,
    reason = "each use is a table of its own"
)]
const NONE: Bits = [const { AtomicU64::new(0) }; PLACES / BITS];

/// Places side by side, from a multiple of the huge page on.
struct Area {
    /// 0 in one that is not used yet.
    start: AtomicUsize,
    /// Which places are taken.
    taken: Bits,
    /// Which hold a piece of which all may be written.
    open: Bits,
    /// At the first place of a huge page: whether it was put together, and nothing in it
    /// has gone since.
    done: Bits,
    /// There, too: whether it could not be.
    missed: Bits,
    /// Behind the place that was taken last.
    next: AtomicUsize,
}

static TABLE: [Area; AREAS] = [const {
    Area {
        start: AtomicUsize::new(0),
        taken: NONE,
        open: NONE,
        done: NONE,
        missed: NONE,
        next: AtomicUsize::new(0),
    }
}; AREAS];

/// The size of a piece and that of a huge page, which holds two of them at least and 64 at
/// most; powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of a piece.
    pub piece: usize,
    /// Bytes of a huge page.
    pub huge: usize,
}

impl Sizes {
    /// Sizes with which pieces can be placed so.
    pub fn new(piece: usize, huge: usize, page: usize) -> Option<Sizes> {
        let are_powers = piece.is_power_of_two() && huge.is_power_of_two();
        let fits = || (2..=BITS).contains(&(huge / piece)) && piece >= 2 * page;
        (are_powers && fits()).then_some(Sizes { piece, huge })
    }

    fn each_huge(self) -> usize {
        self.huge / self.piece
    }

    fn area(self) -> usize {
        PLACES * self.piece
    }
}

/// How many pieces may be written.
static OPEN: AtomicUsize = AtomicUsize::new(0);

fn get(bits: &Bits, place: usize) -> bool {
    bits.get(place / BITS)
        .is_some_and(|word| word.load(Ordering::Acquire) >> (place % BITS) & 1 != 0)
}

/// Sets a bit; whether it was not set.
fn set(bits: &Bits, place: usize) -> bool {
    let bit = 1 << (place % BITS);
    let word = bits.get(place / BITS);
    word.is_some_and(|word| word.fetch_or(bit, Ordering::AcqRel) & bit == 0)
}

/// Clears a bit; whether it was set.
fn clear(bits: &Bits, place: usize) -> bool {
    let bit = 1 << (place % BITS);
    let word = bits.get(place / BITS);
    word.is_some_and(|word| word.fetch_and(!bit, Ordering::AcqRel) & bit != 0)
}

impl Area {
    fn start(&self) -> Option<usize> {
        match self.start.load(Ordering::Acquire) {
            0 => None,
            start => Some(start),
        }
    }

    /// Takes two places side by side; the first of them. Those that were not taken for the
    /// longest time come first: a gap holds one piece less than it has places, so that it
    /// is of use once it is a long one.
    fn claim(&self) -> Option<usize> {
        let next = self.next.load(Ordering::Relaxed).min(PLACES);
        let mut places = (next..PLACES - 1).chain(0..next.min(PLACES - 1));
        let place = places.find(|place| self.take_both(*place))?;
        self.next.store(place + 1, Ordering::Relaxed);
        Some(place)
    }

    fn take_both(&self, place: usize) -> bool {
        if get(&self.taken, place) || get(&self.taken, place + 1) || !set(&self.taken, place) {
            return false;
        }
        let both = set(&self.taken, place + 1);
        if !both {
            clear(&self.taken, place);
        }
        both
    }

    /// The places that a range meets, and whether it covers each but for a page at most.
    fn places(&self, range: &Range<usize>, sizes: Sizes) -> impl Iterator<Item = (usize, bool)> {
        let start = self.start().unwrap_or(usize::MAX - sizes.area());
        let end = start + sizes.area();
        let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
        let first = (from - start) / sizes.piece;
        let last = (to - start).div_ceil(sizes.piece);
        let last = if from < to { last } else { first };
        (first..last).map(move |place| {
            let at = start + place * sizes.piece;
            // A little of the second place is never mapped, which is room to align the first.
            let most = at + sizes.piece - sizes.piece / 16;
            (place, from <= at && most <= to)
        })
    }

    fn close(&self, place: usize, sizes: Sizes) {
        let first = place / sizes.each_huge() * sizes.each_huge();
        if clear(&self.open, place) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        clear(&self.done, first);
        clear(&self.missed, first);
    }

    /// The first places of huge pages of which all may be written, and that are not done.
    fn whole(&self, sizes: Sizes) -> impl Iterator<Item = usize> {
        let each = sizes.each_huge();
        let mask = u64::MAX >> (BITS - each);
        (0..PLACES).step_by(each).filter(move |place| {
            let word = self.open[place / BITS].load(Ordering::Acquire);
            word >> (place % BITS) & mask == mask && !get(&self.done, *place)
        })
    }
}

fn used() -> impl Iterator<Item = (&'static Area, usize)> {
    let known = |area: &'static Area| Some((area, area.start()?));
    TABLE.iter().map_while(known)
}

/// Whether there are none at all.
#[inline]
pub fn is_empty() -> bool {
    TABLE[0].start.load(Ordering::Acquire) == 0
}

/// Takes two places side by side, of which the first is for a piece, and the second is
/// room to align it. Where no area has any, one begins near `hint`.
pub fn claim(hint: usize, sizes: Sizes) -> Option<usize> {
    let place = |(area, start): (&Area, usize)| Some(start + area.claim()? * sizes.piece);
    used()
        .find_map(place)
        .or_else(|| place(begin(hint, sizes)?))
}

fn begin(hint: usize, sizes: Sizes) -> Option<(&'static Area, usize)> {
    let start = hint / sizes.huge * sizes.huge;
    let end = start.checked_add(2 * sizes.area())?;
    let is_free = |(_, other): (&Area, usize)| other + sizes.area() <= start || end <= other;
    if start == 0 || !used().all(is_free) {
        return None;
    }
    let take = |area: &&Area| {
        let taken = area
            .start
            .compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    };
    Some((TABLE.iter().find(take)?, start))
}

/// The kernel has something else at a place that was claimed: its huge page holds no
/// pieces.
pub fn missed(at: usize, sizes: Sizes) {
    let start = at / sizes.huge * sizes.huge;
    for (area, _) in used() {
        for (place, _) in area.places(&(start..start + sizes.huge), sizes) {
            set(&area.taken, place);
        }
    }
}

/// A range was made writable: the pieces that lie in it are; whether there are any.
pub fn opened(range: &Range<usize>, sizes: Sizes) -> bool {
    let mut any = false;
    for (area, _) in used() {
        for (place, _) in area.places(range, sizes).filter(|(_, is_whole)| *is_whole) {
            if get(&area.taken, place) && set(&area.open, place) {
                OPEN.fetch_add(1, Ordering::Relaxed);
                any = true;
            }
        }
    }
    any
}

/// How many huge pages all pieces would fill that may be written.
pub fn open_in_all(sizes: Sizes) -> usize {
    OPEN.load(Ordering::Relaxed) / sizes.each_huge()
}

/// A range was made anything else.
pub fn closed(range: &Range<usize>, sizes: Sizes) {
    for (area, _) in used() {
        area.places(range, sizes)
            .for_each(|(place, _)| area.close(place, sizes));
    }
}

/// A range was unmapped.
pub fn gone(range: &Range<usize>, sizes: Sizes) {
    closed(range, sizes);
    for (area, _) in used() {
        for (place, _) in area.places(range, sizes).filter(|(_, is_whole)| *is_whole) {
            clear(&area.taken, place);
        }
    }
}

/// Huge pages of which all may be written, and that were not put together since: where
/// they are.
pub fn whole(sizes: Sizes) -> impl Iterator<Item = usize> {
    used().flat_map(move |(area, start)| {
        let places = area.whole(sizes);
        places.map(move |place| start + place * sizes.piece)
    })
}

/// Notes that one is put together now; whether nobody else does.
pub fn take(whole: usize, sizes: Sizes) -> bool {
    of_whole(whole, sizes).is_some_and(|(area, place)| set(&area.done, place))
}

/// Notes that it could not be; it is tried once more.
pub fn untake(whole: usize, sizes: Sizes) {
    if let Some((area, place)) = of_whole(whole, sizes) {
        if set(&area.missed, place) {
            clear(&area.done, place);
        }
    }
}

fn of_whole(whole: usize, sizes: Sizes) -> Option<(&'static Area, usize)> {
    let holds = |(_, start): &(&Area, usize)| (*start..*start + sizes.area()).contains(&whole);
    let (area, start) = used().find(holds)?;
    Some((area, (whole - start) / sizes.piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    const SIZES: Sizes = Sizes {
        piece: 256 * KIB,
        huge: 2 * MIB,
    };

    #[test]
    fn which_sizes_fit() {
        let fits = |piece, huge| Sizes::new(piece, huge, 4 * KIB).is_some();
        assert!(fits(256 * KIB, 2 * MIB) && fits(MIB, 2 * MIB) && fits(256 * KIB, 16 * MIB));
        assert!(!fits(2 * MIB, 2 * MIB) && !fits(4 * KIB, 2 * MIB) && !fits(0, 2 * MIB));
        assert!(!fits(300 * KIB, 2 * MIB) && !fits(256 * KIB, 512 * MIB));
    }

    fn all() -> Vec<usize> {
        whole(SIZES).collect()
    }

    /// Takes a place and gives back what only aligns it.
    fn piece(hint: usize) -> usize {
        let at = claim(hint, SIZES).unwrap();
        let room = at + SIZES.piece..at + 2 * SIZES.piece - 4 * KIB;
        gone(&room, SIZES);
        at
    }

    fn of(at: usize) -> Range<usize> {
        at..at + SIZES.piece
    }

    /// One test, since there is one table.
    #[test]
    fn places_are_taken_side_by_side_and_again() {
        let hint = (1 << 40) + 5 * SIZES.piece;
        let start = hint / SIZES.huge * SIZES.huge;
        for place in 0..12 {
            let at = piece(hint);
            assert_eq!(at, start + place * SIZES.piece);
            assert_eq!(all().len(), usize::from(place == 8));
            assert!(opened(&of(at), SIZES) && !opened(&of(at), SIZES));
            if place == 8 {
                assert!(all() == [start] && take(start, SIZES) && !take(start, SIZES));
            }
        }
        what_changes_is_put_together_again(start);
        // Where the kernel has something else.
        missed(start + 2 * SIZES.huge, SIZES);
        assert_eq!(piece(hint), start + 12 * SIZES.piece);
        assert_eq!(piece(hint), start + 13 * SIZES.piece);
        assert_eq!(piece(hint), start + 14 * SIZES.piece);
        assert_eq!(piece(hint), start + 3 * SIZES.huge);
        // What is free again is taken when nothing else is left.
        gone(&(start + SIZES.piece..start + 4 * SIZES.piece), SIZES);
        let rest = PLACES - 3 * SIZES.each_huge() - 2;
        (0..rest).for_each(|_| assert!(piece(hint) > start + 3 * SIZES.huge));
        assert_eq!(piece(hint), start + SIZES.piece);
        assert_eq!(piece(hint), start + 2 * SIZES.piece);
        // Another area begins where there is none.
        assert!(begin(start + MIB, SIZES).is_none());
        assert_eq!(piece(1 << 41), 1 << 41);
    }

    fn what_changes_is_put_together_again(start: usize) {
        let place = start + 3 * SIZES.piece;
        closed(&(place..place + 4 * KIB), SIZES);
        assert!(all().is_empty());
        assert!(opened(&of(place), SIZES) && all() == [start] && take(start, SIZES));
        untake(start, SIZES);
        assert!(all() == [start] && take(start, SIZES));
        untake(start, SIZES);
        assert!(all().is_empty());
        // What is gone is not opened.
        gone(&of(place), SIZES);
        assert!(!opened(&of(place), SIZES) && all().is_empty());
    }
}
