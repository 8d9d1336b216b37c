//! What stands behind the heap's windows, counted.

use crate::register;
use crate::slices::SLICE;
use crate::unit::State;
use crate::window::{Holds, Window};

/// Bytes behind the windows of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// In use by the allocator, whatever the pages.
    pub taken: usize,
    /// On pages of hugetlb pools: whole pages, in use or not.
    pub hugetlb: usize,
    /// In use, on memory that is advised to be on transparent huge pages. How
    /// much of it is, the kernel tells in `/proc/self/smaps`.
    pub transparent: usize,
}

impl Census {
    /// Counts now; other threads may change it meanwhile.
    pub fn take() -> Census {
        let _pass = register::GATE.pass();
        let windows = register::windows().filter(|window| window.holds == Holds::Heap);
        windows.fold(Census::default(), Census::with)
    }

    fn with(mut self, window: &Window) -> Census {
        self.taken += window.used_slices() * SLICE;
        for unit in window.units() {
            match unit.load() {
                (state, _) if state.is_hugetlb() => self.hugetlb += window.layout.unit,
                (State::Thp, used) => self.transparent += used as usize * SLICE,
                _ => {}
            }
        }
        self
    }
}
