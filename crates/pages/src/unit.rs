//! The unit of a window: what stands behind one huge page's worth of
//! addresses, and how much of it is in use.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// What stands behind a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Nothing; accesses are faults.
    Empty = 0,
    /// A hugetlb mapping without a page; must not be touched.
    EmptyHuge = 1,
    /// Being changed by one thread.
    Busy = 2,
    /// Base pages.
    Base = 3,
    /// Transparent huge pages.
    Thp = 4,
    /// A hugetlb page of the unit's size.
    Huge = 5,
    /// A part of a larger hugetlb page.
    Big = 6,
    /// A hugetlb page that the program has closed to writing.
    Shut = 7,
    /// The same, and a child of a fork shares it: the next writer would need a
    /// page for a copy.
    Lent = 8,
    /// A page that the program keeps from the children of its forks.
    Apart = 9,
    /// The same, closed to writing.
    ShutApart = 10,
    /// Not ours: the program has unmapped it or put something else there.
    Gone = 11,
}

impl State {
    const fn from_low(byte: u32) -> State {
        match byte & 0xff {
            1 => State::EmptyHuge,
            2 => State::Busy,
            3 => State::Base,
            4 => State::Thp,
            5 => State::Huge,
            6 => State::Big,
            7 => State::Shut,
            8 => State::Lent,
            9 => State::Apart,
            10 => State::ShutApart,
            11 => State::Gone,
            _ => State::Empty,
        }
    }

    /// Whether nothing stands behind the unit.
    pub fn is_empty(self) -> bool {
        matches!(self, State::Empty | State::EmptyHuge)
    }

    /// Whether a page of a hugetlb pool stands behind the unit.
    pub fn is_hugetlb(self) -> bool {
        self.is_open() || matches!(self, State::Shut | State::Lent | State::ShutApart)
    }

    /// Whether that page may be written.
    fn is_open(self) -> bool {
        self.is_inherited() || self == State::Apart
    }

    /// Whether that page may be written by the children of a fork, too: such
    /// pages move down before it.
    pub fn is_inherited(self) -> bool {
        matches!(self, State::Huge | State::Big)
    }

    /// Whether our own handlers may meet a fault there that is not the
    /// program's.
    pub fn is_ours_to_mend(self) -> bool {
        self.is_open() || matches!(self, State::Busy | State::Base | State::Thp)
    }

    /// After the program has allowed writing (`writable`) or not.
    pub fn protected(self, writable: bool) -> State {
        match (self, writable) {
            (State::Huge, false) => State::Shut,
            (State::Shut, true) => State::Huge,
            (State::Apart, false) => State::ShutApart,
            (State::ShutApart, true) => State::Apart,
            (other, _) => other,
        }
    }

    /// After the program has kept it from children (`apart`) or not.
    pub fn kept_apart(self, apart: bool) -> State {
        match (self, apart) {
            (State::Huge | State::Base | State::Thp, true) => State::Apart,
            (State::Shut | State::Lent, true) => State::ShutApart,
            (State::Apart, false) => State::Huge,
            (State::ShutApart, false) => State::Shut,
            (other, _) => other,
        }
    }
}

/// A unit's state and the number of its slices in use, in one word.
#[derive(Debug)]
#[repr(transparent)]
pub struct Unit(AtomicU32);

impl Unit {
    /// The state, and how many slices are in use.
    pub fn load(&self) -> (State, u32) {
        let word = self.0.load(Ordering::Acquire);
        (State::from_low(word), word >> 8)
    }

    /// Moves from exactly `from` to `to`; whether that succeeded.
    pub fn replace(&self, from: (State, u32), to: (State, u32)) -> bool {
        self.0
            .compare_exchange(pack(from), pack(to), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the unit for a change: nobody else changes it until
    /// [`Unit::publish`]. `None` where it is not in the state `from`.
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

    /// Takes the unit as [`Unit::claim`] does, where nothing in it is used;
    /// waits while another thread changes it. Whether it was taken.
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

    /// Ends a change.
    pub fn publish(&self, state: State, used: u32) {
        self.0.store(pack((state, used)), Ordering::Release);
    }

    /// The state, once nobody is changing it.
    pub fn settled(&self) -> (State, u32) {
        loop {
            match self.load() {
                (State::Busy, _) => sys::yield_now(),
                settled => return settled,
            }
        }
    }
}

fn pack((state, used): (State, u32)) -> u32 {
    used << 8 | state as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_travel_in_a_byte() {
        for byte in 0..=11 {
            assert_eq!(State::from_low(byte) as u32, byte);
        }
    }

    #[test]
    fn what_a_program_does_to_a_page_can_be_undone() {
        for state in [State::Huge, State::Shut, State::Apart, State::ShutApart] {
            let writable = matches!(state, State::Huge | State::Apart);
            let apart = matches!(state, State::Apart | State::ShutApart);
            assert_eq!(state.protected(!writable).protected(writable), state);
            assert_eq!(state.kept_apart(!apart).kept_apart(apart), state);
            assert!(state.is_hugetlb() && (state.is_inherited() == (writable && !apart)));
        }
        assert_eq!(State::Lent.protected(true), State::Lent);
        assert_eq!(State::Gone.protected(true).kept_apart(true), State::Gone);
        assert!(!State::Shut.is_ours_to_mend() && !State::Gone.is_ours_to_mend());
    }

    #[test]
    fn state_and_use_travel_together() {
        let unit = Unit(AtomicU32::new(0));
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
}
