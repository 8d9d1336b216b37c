//! Memory that has begun on base pages moves up to pages of a pool, so that all
//! of a large heap lies on such, without the page tables that small pages leave
//! behind.
//!
//! Whoever writes there meanwhile, another thread or another process by
//! `process_vm_writev(2)`, waits in the kernel: by `userfaultfd(2)`, and where
//! the process may not use that, or a device may write, nothing moves.
#![expect(unsafe_code, reason = "replaces memory by a copy")]

use core::ops::Range;

use crate::segment::place::Aside;
use crate::sys::{NoSignals, Result, WriteProtection};
use crate::unit::State;
use crate::window::{Holds, Window};
use crate::{
    behind, facts, fault, hugetlb, luck, mapping, place, populate, private_copy, runs, still,
};

/// So much at a time where nobody has to wait, and where other threads may.
const PIECE: usize = 32 << 20;
const SHORT_PIECE: usize = 4 << 20;

/// What moves memory; while it is there, this thread takes no signals.
pub struct Mover {
    protection: WriteProtection,
    _quiet: NoSignals,
}

impl Mover {
    /// `None` where nothing may move.
    pub fn new() -> Option<Mover> {
        // It would all come to the node of this thread.
        let is_spread = place::is_divided() && facts::has_threads();
        if is_spread || !luck::may_have_hugetlb() || behind::may_be_written() {
            return None;
        }
        Some(Mover {
            protection: still::protection()?,
            _quiet: NoSignals::begin(),
        })
    }

    /// Moves the base pages of a window, as far as the pool has pages. The
    /// caller must be inside of the gate.
    pub fn move_up(&self, window: &Window) {
        let is_heap = window.holds == Holds::Heap;
        if !is_heap || !window.layout.huge || hugetlb::has_slices(window.layout.unit) {
            return;
        }
        let piece = match facts::has_threads() {
            true => SHORT_PIECE,
            false => PIECE,
        };
        let mut at = 0;
        while let Some(units) = runs::base(window, at, piece) {
            at = units.end;
            if self.move_units(window, units).is_none() {
                return;
            }
        }
    }

    /// Moves units; `None` where the next ones need not be tried.
    fn move_units(&self, window: &Window, units: Range<usize>) -> Option<()> {
        let claimed = |unit: &usize| window.units()[*unit].claim(State::Base).is_some();
        let units = units.start..units.start + units.clone().take_while(claimed).count();
        let moved = self.move_claimed(window, units.clone());
        for unit in units.clone() {
            let (_, used) = window.units()[unit].load();
            let is_moved = unit < units.start + moved;
            let state = if is_moved { State::Huge } else { State::Base };
            window.units()[unit].publish(state, used);
        }
        (moved == units.len()).then_some(())
    }

    /// Moves claimed units, from the first one on; how many.
    fn move_claimed(&self, window: &Window, units: Range<usize>) -> usize {
        let (range, size) = (window.range_of(&units), window.layout.unit);
        if units.is_empty() || !mapping::is_usual(&range) {
            return 0;
        }
        let Ok(aside) = Aside::from_pool(range.len(), size) else {
            return 0;
        };
        let units = units.start..units.start + aside.len() / size;
        fault::guard();
        match self.replace(window, units.clone(), aside) {
            Ok(()) => units.len(),
            Err(_) => 0,
        }
    }

    /// Replaces units by pages of a pool with the same contents.
    fn replace(&self, window: &Window, units: Range<usize>, aside: Aside) -> Result<()> {
        let range = window.range_of(&units);
        // SAFETY: mapped readable, and stays. What is absent could not be
        // protected.
        unsafe { populate::for_reading(range.start, range.len(), facts::page_size()) };
        let result = self.protection.protect(&range).and_then(|()| {
            // SAFETY: in use and claimed; whoever writes waits.
            unsafe { private_copy::copy(window, units, aside.addr) };
            // SAFETY: a copy, and nobody writes meanwhile.
            unsafe { aside.replace(range.start) }
        });
        match result {
            Ok(()) => self.protection.replaced(&range),
            Err(_) => self.protection.release(&range),
        }
        result
    }
}
