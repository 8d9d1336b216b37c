//! Counts the heap by kind of page.

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::rt::fork_gate;

/// Bytes of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// In use.
    pub taken: usize,
    /// On hugetlb pages, in use or not.
    pub hugetlb: usize,
    /// In use, and advised to use transparent huge pages; smaps tells how much does.
    pub transparent: usize,
}

impl Stats {
    /// Counts now; other threads may change the heap meanwhile.
    pub fn take() -> Stats {
        let _pass = fork_gate::GATE.pass();
        index::read(|| {
            let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
            extents.fold(Stats::default(), Stats::with)
        })
    }

    fn with(mut self, extent: &Extent) -> Stats {
        self.taken += extent.used_slices() * SLICE;
        for unit in extent.units() {
            match unit.load() {
                (state, _) if state.is_hugetlb() => self.hugetlb += extent.layout.unit,
                (State::Thp, used) => self.transparent += used as usize * SLICE,
                _ => {}
            }
        }
        self
    }
}
