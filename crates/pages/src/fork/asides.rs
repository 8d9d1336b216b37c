//! The copies that a fork has made for its child, in a table of mapped memory: one fork
//! at a time has them.
#![expect(unsafe_code, reason = "copies and replaces memory by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, index};
use crate::migrate::replace::Copy;
use crate::policy::release;
use crate::sys::{self, Result};

/// The copies for the fork that is under way, in mapped memory of so many
/// bytes.
static ALL: AtomicPtr<Aside> = AtomicPtr::new(core::ptr::null_mut());
static ROOM: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A run of units, and its copy.
#[derive(Debug)]
pub(super) struct Aside {
    extent: &'static Extent,
    units: Range<usize>,
    /// The size of its pages.
    page: usize,
    /// Where the copy is; 0 where there is none.
    addr: usize,
    /// What it is.
    state: State,
}

impl Aside {
    /// A run of units that were claimed.
    pub(super) fn claimed(extent: &'static Extent, units: Range<usize>) -> Aside {
        let state = extent.units()[units.start].before();
        Aside {
            extent,
            units,
            page: extent.page_size(state),
            addr: 0,
            state: State::Busy,
        }
    }

    /// Copies the units, and keeps the pages themselves from the child.
    pub(super) fn copy(&mut self) -> Result<()> {
        let (extent, units, range) = (self.extent, self.units.clone(), self.range());
        let copy = Copy::reserve(extent, range.len())?;
        let state = copy.begin(extent, &units, false)?;
        // SAFETY: claimed, so the units stay.
        unsafe { copy.fill(extent, units)? };
        // SAFETY: memory of ours; the advice is about forks only.
        let kept = unsafe { sys::madvise(range.start, range.len(), libc::MADV_DONTFORK) };
        // Without a mapping to spare it may have got half of the way.
        kept.inspect_err(|_| give_to_children(&range))?;
        (self.addr, self.state) = (copy.keep(), state);
        Ok(())
    }

    /// Lets others change the units again.
    pub(super) fn release(&self) {
        let units = &self.extent.units()[self.units.clone()];
        units.iter().for_each(Unit::release);
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.extent.range_of(&self.units)
    }

    /// The page at an address of it.
    pub(super) fn page_at(&self, addr: usize) -> Range<usize> {
        let start = addr & !(self.page - 1);
        start..start + self.page
    }

    /// Whether there is a copy.
    pub(super) fn has_copy(&self) -> bool {
        self.addr != 0
    }

    /// How much of it is in use.
    pub(super) fn used(&self) -> usize {
        let units = &self.extent.units()[self.units.clone()];
        let slices = units.iter().map(|unit| unit.load().1 as usize);
        slices.sum::<usize>() * SLICE
    }

    /// In the parent: as if nothing had been. Another thread may have given the
    /// memory back meanwhile, or the program may keep it from children by itself.
    pub(super) fn drop_copy(&self) {
        if self.addr == 0 {
            return;
        }
        give_to_children(&self.extent.range_of(&self.units));
        // SAFETY: asked for once.
        drop(unsafe { self.copy_of(&self.units) });
    }

    /// In the child: closes the gap. Where another thread has given the memory
    /// back meanwhile there is none.
    pub(super) fn put(&self) {
        if self.addr == 0 {
            return;
        }
        self.each_part(State::is_hugetlb, |part, put| {
            // SAFETY: kept by `copy`; each part is taken once.
            let copy = unsafe { self.copy_of(&part) };
            if put {
                self.put_units(part, copy);
            }
        });
        let is_gone = |unit: &&Unit| unit.load().0 == State::EmptyHuge;
        let units = self.extent.units()[self.units.clone()].iter();
        // The mapping did not come along.
        units
            .filter(is_gone)
            .for_each(|unit| unit.publish(State::Empty, 0));
    }

    /// Calls `each` for the parts whose units are in a state that is `wanted`, and
    /// for those that are not; none are where the extent does not stand any more. What
    /// another thread is changing is what it was: in a child that thread never ends it.
    fn each_part(&self, wanted: impl Fn(State) -> bool, mut each: impl FnMut(Range<usize>, bool)) {
        let stands = index::stands(self.extent);
        let is_wanted = |unit: usize| stands && wanted(self.extent.units()[unit].load_before().0);
        let mut at = self.units.start;
        while at < self.units.end {
            let here = is_wanted(at);
            let end = (at..self.units.end).find(|unit| is_wanted(*unit) != here);
            let part = at..end.unwrap_or(self.units.end);
            at = part.end;
            each(part, here);
        }
    }

    /// The copy of some of its units.
    ///
    /// # Safety
    /// It must be asked for once.
    unsafe fn copy_of(&self, units: &Range<usize>) -> Copy {
        let range = self.extent.range_of(units);
        let addr = self.addr + (range.start - self.range().start);
        // SAFETY: kept by `copy`, and as the caller says.
        unsafe { Copy::kept(addr, range.len()) }
    }

    fn put_units(&self, units: Range<usize>, copy: Copy) {
        let range = self.extent.range_of(&units);
        // SAFETY: there is nothing at the address, and the copy belongs there.
        if unsafe { copy.put_into_gap(self.extent, range.start) }.is_err() {
            return;
        }
        for unit in &self.extent.units()[units] {
            let (before, used) = unit.load_before();
            release::give_units(self.extent, before, self.extent.layout.unit);
            unit.publish(self.state, used);
        }
    }
}

/// Has the children of forks get a range again. Where that joins mappings it needs none.
fn give_to_children(range: &Range<usize>) {
    // SAFETY: memory of ours; the advice is about forks only.
    let _ = unsafe { sys::madvise(range.start, range.len(), libc::MADV_DOFORK) };
}

/// Makes room for so many copies, and some more, for what is met only later: pages
/// that others are changing now. Whether there is any.
pub(super) fn make_table(count: usize) -> bool {
    const MORE: usize = 64;
    let len = match count {
        0 => return false,
        _ => (count + MORE) * size_of::<Aside>(),
    };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let Ok(table) = (unsafe { sys::mmap(0, len, prot, flags, -1, 0) }) else {
        return false;
    };
    ROOM.store(len, Ordering::Relaxed);
    ALL.store(table as *mut Aside, Ordering::Relaxed);
    true
}

/// All that were counted.
pub(super) fn all() -> &'static [Aside] {
    match COUNT.load(Ordering::Acquire) {
        0 => &[],
        // SAFETY: so many were written; the table stays while they are counted.
        count => unsafe { core::slice::from_raw_parts(ALL.load(Ordering::Relaxed), count) },
    }
}

/// Where the asides are written, and how many there may be; none of them is seen by
/// others before [`publish`].
pub(super) fn room() -> (*mut Aside, usize) {
    let room = ROOM.load(Ordering::Relaxed) / size_of::<Aside>();
    (ALL.load(Ordering::Relaxed), room)
}

/// So many were written; others may look at them.
pub(super) fn publish(count: usize) {
    COUNT.store(count, Ordering::Release);
}

/// Ends the table, which nobody looks at any more; whether there was one.
pub(super) fn drop_table() -> bool {
    COUNT.store(0, Ordering::Release);
    let table = ALL.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if table.is_null() {
        return false;
    }
    // SAFETY: mapped by `make_table`; nobody looks at it any more.
    let _ = unsafe { sys::munmap(table as usize, ROOM.load(Ordering::Relaxed)) };
    true
}
