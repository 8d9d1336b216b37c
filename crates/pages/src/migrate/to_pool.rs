//! Memory that has begun on base pages moves up to pages of a pool, so that all
//! of a large heap lies on such, without the page tables that small pages leave
//! behind.
//!
//! Whoever writes there meanwhile, another thread or another process by
//! `process_vm_writev(2)`, waits in the kernel: by `userfaultfd(2)`, and where
//! the process may not use that, or a device may write, nothing moves.
#![expect(unsafe_code, reason = "replaces memory by a copy")]

use core::ops::Range;

use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, Holds, stacks};
use crate::kernel::dma_users::{self, Writers};
use crate::kernel::pagemap::{self, Page};
use crate::kernel::{facts, hugetlb_pool, vma_attributes};
use crate::migrate::aside::Aside;
use crate::migrate::{changes, runs, sigbus};
use crate::policy::{numa_copy, pool_backoff};
use crate::sys::{self, Errno, NoSignals, Result, WriteProtection};

/// So much is looked at in one go where no other thread could do something to it
/// meanwhile.
const PIECE: usize = 32 << 20;

/// What moves memory; while it is there, this thread takes no signals.
pub struct Mover {
    protection: WriteProtection,
    _quiet: NoSignals,
}

impl Mover {
    /// `None` where nothing may move. A system call that the program does not
    /// make may be deadly under a filter.
    pub fn new() -> Option<Mover> {
        // It would all come to the node of this thread.
        let is_spread = numa_copy::is_divided() && facts::has_threads();
        let may_move = !is_spread && pool_backoff::may_have_hugetlb() && !facts::has_filter();
        if !may_move || dma_users::writers() != Writers::None {
            return None;
        }
        Some(Mover {
            protection: WriteProtection::of_ordinary_memory().ok()?,
            _quiet: NoSignals::begin(),
        })
    }

    /// Moves the base pages of an extent, as far as the pool has pages. The
    /// caller must be inside of the gate.
    pub fn move_up(&self, extent: &Extent) {
        let is_heap = extent.holds == Holds::Heap;
        if !is_heap || !extent.layout.huge || hugetlb_pool::has_slices(extent.layout.unit) {
            return;
        }
        let others = facts::has_threads();
        let piece = if others { extent.layout.unit } else { PIECE };
        let mut at = 0;
        while let Some(units) = runs::base(extent, at, piece) {
            at = units.end;
            // With other threads each unit is looked at by itself, once it is taken.
            let is_usual = others || vma_attributes::is_usual(&extent.range_of(&units));
            let mut units = units.into_iter();
            if is_usual && units.any(|unit| !self.move_unit(extent, unit, others)) {
                return;
            }
        }
    }

    /// Moves a unit; whether the next one need be tried. Unit by unit, so that
    /// each page table is free before there are more.
    fn move_unit(&self, extent: &Extent, unit: usize, others: bool) -> bool {
        let word = &extent.units()[unit];
        let Some(used) = word.claim(State::Base) else {
            return true;
        };
        let range = extent.range_of(&(unit..unit + 1));
        // Asked once it is claimed: who notes a stack afterwards moves it down, and who
        // changes memory of the program's waits.
        let is_usual = || !changes::are_under_way() && vma_attributes::is_usual(&range);
        if stacks::meets(&range) || others && !is_usual() {
            word.publish(State::Base, used);
            return true;
        }
        let result = self.replace(&range, word);
        let state = match result {
            Ok(()) => State::Huge,
            Err(_) => State::Base,
        };
        word.publish(state, used);
        result.is_ok()
    }

    /// Replaces a range, of a unit that was taken, by one page of a pool with the same
    /// contents.
    fn replace(&self, range: &Range<usize>, unit: &Unit) -> Result<()> {
        if range.contains(&sys::thread_name()) {
            // The kernel writes there for this thread, which would wait for itself.
            return Err(Errno(libc::EBUSY));
        }
        let aside = Aside::for_heap(range.len())?;
        sigbus::guard(range.len());
        sys::keep_in_memory(range.start, range.len())?;
        let result = self.protection.protect(range).and_then(|()| {
            // Another thread may have come to give buffers to a device meanwhile.
            if facts::has_threads() && dma_users::newcomers() != Writers::None {
                return Err(Errno(libc::EBUSY));
            }
            // SAFETY: in use and claimed; whoever writes waits, and nothing is
            // swapped out.
            unsafe { copy(range, aside.addr)? };
            // For a child that is forked just now.
            unit.may_become(State::Huge);
            // SAFETY: a copy, and nobody writes meanwhile.
            unsafe { aside.replace(range.start) }
        });
        match result {
            Ok(()) => self.protection.replaced(range),
            Err(_) => {
                self.protection.release(range);
                sys::let_be_swapped(range.start, range.len());
            }
        }
        result
    }
}

/// Copies what is there of a range to zeros of the same length. What the kernel is just
/// moving to another place is there, though its entry says that it is swapped out, and so
/// says that of a page which is only protected: what is read there is what it holds.
///
/// # Errors
/// `EAGAIN` where some of the process's memory is swapped out: there is too little for a
/// copy.
///
/// # Safety
/// The range must be readable and as it is, `to` writable and the caller's.
unsafe fn copy(range: &Range<usize>, to: usize) -> Result<()> {
    if facts::swapped_memory() != Some(0) {
        return Err(Errno(libc::EAGAIN));
    }
    let page = sys::page_size();
    pagemap::scan(range.clone(), |addr, what| {
        if what != Page::Absent {
            let (from, to) = (addr as *const u8, (to + (addr - range.start)) as *mut u8);
            // SAFETY: as the caller says; two mappings do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(from, to, page) };
        }
    })
}
