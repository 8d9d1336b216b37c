//! A unit: the addresses of one huge page, with their backing and the number of slices in use.
//! While busy it records its owner and its previous state, so that a forked child can finish the
//! change.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::rt::wait_queue::WaitQueue;
use crate::sys;

/// Woken when a change ends.
static CHANGED: WaitQueue = WaitQueue::new();

/// Backing of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// No pages of ours: address space without access, or a segment before it moves.
    Empty = 0,
    /// No page, but perhaps a hugetlb mapping: don't touch it.
    EmptyHuge = 1,
    /// Being changed by a thread.
    Busy = 2,
    /// Ordinary memory without advice.
    Base = 3,
    /// Ordinary memory with `MADV_HUGEPAGE`.
    Thp = 4,
    /// A hugetlb page of the unit's size.
    Huge = 5,
    /// Part of a larger hugetlb page.
    Big = 6,
}

impl State {
    const fn from_low(byte: u64) -> State {
        match byte & 0xff {
            1 => State::EmptyHuge,
            2 => State::Busy,
            3 => State::Base,
            4 => State::Thp,
            5 => State::Huge,
            6 => State::Big,
            _ => State::Empty,
        }
    }

    /// Whether it has no memory.
    pub fn is_empty(self) -> bool {
        matches!(self, State::Empty | State::EmptyHuge)
    }

    /// Whether it is on hugetlb pages.
    pub fn is_hugetlb(self) -> bool {
        matches!(self, State::Huge | State::Big)
    }
}

/// State and number of used slices in one word; while busy also the previous state and the owner.
#[derive(Debug)]
#[repr(transparent)]
pub struct Unit(AtomicU64);

/// Bit positions in the word.
const BEFORE: u32 = 8;
const USED: u32 = 16;
const OWNER: u32 = 40;

/// The bits of the number of used slices, after the shift.
const USED_MASK: u64 = (1 << (OWNER - USED)) - 1;

impl Unit {
    /// State and number of used slices.
    pub fn load(&self) -> (State, u32) {
        unpack(self.0.load(Ordering::Acquire))
    }

    /// Like [`Unit::load`], but returns the previous state of a busy unit.
    pub(crate) fn load_before(&self) -> (State, u32) {
        let word = self.0.load(Ordering::Acquire);
        match unpack(word) {
            (State::Busy, used) => (State::from_low(word >> BEFORE), used),
            settled => settled,
        }
    }

    /// Changes the unit from `from` to `to`; returns whether it was in `from`.
    pub fn replace(&self, from: (State, u32), to: (State, u32)) -> bool {
        let to = match to.0 {
            State::Busy => pack(to) | (from.0 as u64) << BEFORE | this_owner() << OWNER,
            _ => pack(to),
        };
        self.0
            .compare_exchange(pack(from), to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Marks the unit busy until [`Unit::publish`]; returns the number of used slices, or `None`
    /// if its state isn't `from`.
    pub fn claim(&self, from: State) -> Option<u32> {
        loop {
            let (state, used) = self.load();
            if state != from {
                return None;
            }
            if self.replace((from, used), (State::Busy, used)) {
                return Some(used);
            }
        }
    }

    /// Claims an unused unit in state `from`; waits while it is busy. Returns whether it did.
    pub fn claim_unused(&self, from: State) -> bool {
        loop {
            match self.settled() {
                (state, 0) if state == from => {
                    if self.replace((from, 0), (State::Busy, 0)) {
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    /// Ends a change with a new state.
    pub fn publish(&self, state: State, used: u32) {
        self.0.store(pack((state, used)), Ordering::SeqCst);
        CHANGED.wake_all();
    }

    /// Waits while the unit is busy, then returns [`Unit::load`].
    pub fn settled(&self) -> (State, u32) {
        let mut now = self.load();
        while now.0 == State::Busy {
            CHANGED.wait_until(|| self.load().0 != State::Busy);
            now = self.load();
        }
        now
    }

    /// Ends, in a forked child, a change that another thread began. `settle` maps the
    /// state before the change to the final one.
    pub(crate) fn adopt(&self, settle: impl Fn(State) -> State) {
        let word = self.0.load(Ordering::Relaxed);
        let (state, used) = unpack(word);
        if state == State::Busy && word >> OWNER != this_owner() {
            let before = settle(State::from_low(word >> BEFORE));
            let used = if before.is_empty() { 0 } else { used };
            self.0.store(pack((before, used)), Ordering::Relaxed);
        }
    }
}

/// Hash of this thread's key, as wide as the owner (24 bits).
fn this_owner() -> u64 {
    owner_of(sys::thread_key())
}

fn owner_of(thread: usize) -> u64 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    (thread as u64).wrapping_mul(SPREAD) >> OWNER
}

fn pack((state, used): (State, u32)) -> u64 {
    u64::from(used) << USED | state as u64
}

fn unpack(word: u64) -> (State, u32) {
    let used = word >> USED & USED_MASK;
    (State::from_low(word), u32::try_from(used).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_fits_in_a_byte() {
        for byte in 0..=6 {
            assert_eq!(State::from_low(byte) as u64, byte);
        }
    }

    #[test]
    fn claim_and_replace_compare_state_and_use() {
        let unit = Unit(AtomicU64::new(0));
        assert_eq!(unit.load(), (State::Empty, 0));
        assert_eq!(unit.claim(State::Thp), None);
        assert_eq!(unit.claim(State::Empty), Some(0));
        assert_eq!(unit.claim(State::Empty), None);
        unit.publish(State::Huge, 32);
        assert!(!unit.replace((State::Huge, 31), (State::Huge, 1)));
        assert!(unit.replace((State::Huge, 32), (State::Huge, 1)));
        assert_eq!(unit.settled(), (State::Huge, 1));
        assert!(!unit.claim_unused(State::Huge));
        unit.publish(State::Huge, 0);
        assert!(!unit.claim_unused(State::Big));
        assert!(unit.claim_unused(State::Huge));
        assert_eq!(unit.load(), (State::Busy, 0));
    }

    #[test]
    fn adopt_ends_another_threads_claim() {
        let unit = Unit(AtomicU64::new(0));
        unit.publish(State::Thp, 9);
        std::thread::scope(|scope| {
            scope.spawn(|| unit.claim(State::Thp));
        });
        assert_eq!(unit.load(), (State::Busy, 9));
        unit.adopt(|state| state);
        assert_eq!(unit.load(), (State::Thp, 9));
        // This thread's own change stays in progress.
        assert_eq!(unit.claim(State::Thp), Some(9));
        unit.adopt(|state| state);
        assert_eq!(unit.load(), (State::Busy, 9));
    }
}
