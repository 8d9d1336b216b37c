//! What stands behind the heap's extents, counted.

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::rt::fork_gate;

/// Bytes behind the extents of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// In use by the allocator, whatever the pages.
    pub taken: usize,
    /// On pages of hugetlb pools: whole pages, in use or not.
    pub hugetlb: usize,
    /// In use, on memory that is advised to be on transparent huge pages. How
    /// much of it is, the kernel tells in `/proc/self/smaps`.
    pub transparent: usize,
}

impl Stats {
    /// Counts now; other threads may change it meanwhile.
    pub fn take() -> Stats {
        let _pass = fork_gate::GATE.pass();
        index::look(|| {
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
