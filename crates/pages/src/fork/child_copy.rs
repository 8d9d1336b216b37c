//! Copies for the child of a fork, where the parent's own memory must stay as
//! and where it is: a device writes to it, or may.
//!
//! Before the fork, what lies on private hugetlb pages is copied aside, and the
//! kernel is told not to give those pages to the child (`MADV_DONTFORK`). The
//! child puts the copies in their place; the parent drops them. Neither shares
//! a hugetlb page with the other, so neither ever needs a second one.
//!
//! All of it is protected from others while it is copied, so that the child has
//! it as it was at one moment, and open again before libc forks. Pages that the
//! thread itself, or the kernel for it, writes until then are shared.
//!
//! libc touches its own blocks in the child before our handler runs there, as
//! for the locks of open files: a fault in the gap puts the copies in place.
#![expect(unsafe_code, reason = "copies and replaces memory by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, index};
use crate::fault::sigsegv;
use crate::migrate::replace::Copy;
use crate::migrate::shield::Shield;
use crate::policy::release;
use crate::sys::{self, Result};

use super::refused;
use super::shared::Copied;
use crate::migrate::runs;

/// A run of units, and its copy.
#[derive(Debug)]
struct Aside {
    extent: &'static Extent,
    units: Range<usize>,
    /// Where the copy is; 0 where there is none.
    addr: usize,
    /// What it is.
    state: State,
}

impl Aside {
    /// A run of units that were claimed.
    fn claimed(extent: &'static Extent, units: Range<usize>) -> Aside {
        Aside {
            extent,
            units,
            addr: 0,
            state: State::Busy,
        }
    }

    /// Copies the units, and keeps the pages themselves from the child.
    fn copy(&mut self) -> Result<()> {
        let (extent, units, range) = (self.extent, self.units.clone(), self.range());
        let copy = Copy::reserve(extent, range.len())?;
        let state = copy.begin(extent, &units, false)?;
        // SAFETY: claimed, so the units stay.
        unsafe { copy.fill(extent, units)? };
        // SAFETY: memory of ours; the advice is about forks only.
        unsafe { sys::madvise(range.start, range.len(), libc::MADV_DONTFORK)? };
        (self.addr, self.state) = (copy.keep(), state);
        Ok(())
    }

    /// Lets others change the units again.
    fn release(&self) {
        let units = &self.extent.units()[self.units.clone()];
        units.iter().for_each(Unit::release);
    }

    fn range(&self) -> Range<usize> {
        self.extent.range_of(&self.units)
    }

    /// How much of it is in use.
    fn used(&self) -> usize {
        let units = &self.extent.units()[self.units.clone()];
        let slices = units.iter().map(|unit| unit.load().1 as usize);
        slices.sum::<usize>() * SLICE
    }

    /// In the parent: as if nothing had been. Another thread may have given the
    /// memory back meanwhile, or the program may keep it from children by itself.
    fn drop_copy(&self) {
        if self.addr == 0 {
            return;
        }
        self.each_part(State::is_given_to_children, |part, given| {
            let range = self.extent.range_of(&part);
            if given {
                // SAFETY: memory of ours; the advice is about forks only.
                let _ = unsafe { sys::madvise(range.start, range.len(), libc::MADV_DOFORK) };
            }
        });
        // SAFETY: asked for once.
        drop(unsafe { self.copy_of(&self.units) });
    }

    /// In the child: closes the gap. Where another thread has given the memory
    /// back meanwhile there is none.
    fn put(&self) {
        if self.addr == 0 {
            return;
        }
        self.each_part(State::is_inherited, |part, put| {
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
    /// for those that are not; none are where the extent does not stand any more.
    fn each_part(&self, wanted: impl Fn(State) -> bool, mut each: impl FnMut(Range<usize>, bool)) {
        let stands = index::stands(self.extent);
        let is_wanted = |unit: usize| stands && wanted(self.extent.units()[unit].load().0);
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
        if unsafe { copy.put_over(range.start, self.extent.layout.unit) }.is_err() {
            return;
        }
        for unit in &self.extent.units()[units] {
            let (before, used) = unit.load();
            release::give_units(self.extent, before, self.extent.layout.unit);
            unit.publish(self.state, used);
        }
    }
}

/// The copies for the fork that is under way, in mapped memory of so many
/// bytes.
static ALL: AtomicPtr<Aside> = AtomicPtr::new(core::ptr::null_mut());
static ROOM: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// How many of them the child has put in place.
static PUT: AtomicUsize = AtomicUsize::new(0);
/// The process that made them.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// The signals that the forking thread had blocked.
static BLOCKED: AtomicU64 = AtomicU64::new(0);
/// Whether the handler for faults was put up for this fork.
static PUT_UP: AtomicBool = AtomicBool::new(false);

/// Copies all that a child may write to, while the shield keeps others from it;
/// how many bytes. What cannot be copied is shared with the child, as the kernel
/// does it, and so is what `which` leaves out. The gate must stay closed until
/// [`in_parent`] or [`in_child`].
///
/// Who has waited at the gate goes through, and may want to give back what is being
/// copied: so all of it is claimed meanwhile.
pub(super) fn begin(shield: &Shield, which: &Copied) -> usize {
    if !make_table(runs_to_copy(which).count()) {
        return 0;
    }
    index::begin_look();
    PUT_UP.store(sigsegv::install(mend), Ordering::Relaxed);
    // A fault must get to our handler, whatever the program has blocked.
    BLOCKED.store(sys::unblock(libc::SIGSEGV), Ordering::Relaxed);
    PARENT.store(sys::getpid(), Ordering::Relaxed);
    PUT.store(0, Ordering::Relaxed);
    let asides = claim(which);
    let mut copied = 0;
    if shield.close(asides.iter().map(Aside::range)) {
        for aside in &mut *asides {
            copied += aside.copy().map_or(0, |()| aside.used());
        }
    }
    if asides.iter().any(|aside| aside.addr == 0) {
        refused::note_shared();
    }
    asides.iter().for_each(Aside::release);
    shield.open(asides.iter().map(Aside::range));
    COUNT.store(asides.len(), Ordering::Release);
    copied
}

/// Claims what is to be copied, as far as there is room for it in the table.
fn claim(which: &Copied) -> &'static mut [Aside] {
    let table = ALL.load(Ordering::Relaxed);
    let room = ROOM.load(Ordering::Relaxed) / size_of::<Aside>();
    let (mut count, end) = (0, sys::now() + PATIENCE);
    for extent in runs::writable() {
        let mut from = 0;
        while count < room {
            let Some(units) = claim_run(extent, from, end, which) else {
                break;
            };
            from = units.end;
            // SAFETY: there is room for it.
            let place = unsafe { table.add(count) };
            // SAFETY: the table is ours.
            unsafe { place.write(Aside::claimed(extent, units)) };
            count += 1;
        }
    }
    // SAFETY: so many were written; nobody else looks at them before they are counted.
    unsafe { core::slice::from_raw_parts_mut(table, count) }
}

/// Claims the first run of an extent from a unit on, of pages of one size. What others
/// change is waited for until `end`.
fn claim_run(extent: &Extent, from: usize, end: u64, which: &Copied) -> Option<Range<usize>> {
    let claim = |unit: usize, state: Option<State>| {
        let is_wanted = |now: State| now.is_inherited() && state.is_none_or(|state| state == now);
        which.has(&extent.range_of(&(unit..unit + 1)))
            && extent.units()[unit].claim_until(end, is_wanted)
    };
    let last = extent.units().len();
    let start = (from..last).find(|unit| claim(*unit, None))?;
    let state = extent.units()[start].before();
    let behind = (start + 1..last).find(|unit| !claim(*unit, Some(state)));
    Some(start..behind.unwrap_or(last))
}

/// So long, in milliseconds, waits a fork for others that change units: they may be
/// filling them, but one may have been stopped, too.
const PATIENCE: u64 = 2000;

/// The runs of units to copy.
fn runs_to_copy(which: &Copied) -> impl Iterator<Item = (&'static Extent, Range<usize>)> {
    runs::writable().flat_map(move |extent| {
        let may_be_copied = move |unit: usize| which.has(&extent.range_of(&(unit..unit + 1)));
        runs::hugetlb_where(extent, may_be_copied).map(move |units| (extent, units))
    })
}

/// Makes room for so many copies, and some more, for what is met only later: pages
/// that others are changing now. Whether there is any.
fn make_table(count: usize) -> bool {
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

fn all() -> &'static [Aside] {
    match COUNT.load(Ordering::Acquire) {
        0 => &[],
        // SAFETY: so many were written; the table stays while they are counted.
        count => unsafe { core::slice::from_raw_parts(ALL.load(Ordering::Relaxed), count) },
    }
}

/// Puts the copies in place that are not yet. A signal handler may do it in
/// the middle of it: what is put twice fails the second time, and stays.
fn put_all() {
    for (at, aside) in all().iter().enumerate().skip(PUT.load(Ordering::Relaxed)) {
        aside.put();
        PUT.store(at + 1, Ordering::Relaxed);
    }
}

/// Whether a fault at this address was one in the gap of a child; it is closed
/// now. In the parent, where the table may go at any time, there is no gap.
fn mend(addr: usize) -> bool {
    let is_child = PARENT.load(Ordering::Relaxed) != sys::getpid();
    let is_in = |aside: &Aside| aside.addr != 0 && aside.range().contains(&addr);
    let is_gap = is_child && all().iter().any(is_in);
    if is_gap {
        put_all();
    }
    is_gap
}

/// After the fork, or its failure, in the parent.
pub(super) fn in_parent() {
    all().iter().for_each(Aside::drop_copy);
    if end() {
        index::end_look();
    }
}

/// After the fork in the child; whether there were copies.
pub(super) fn in_child() -> bool {
    put_all();
    let any = all().iter().any(|aside| aside.addr != 0);
    end();
    any
}

/// Whether there was anything to end.
fn end() -> bool {
    COUNT.store(0, Ordering::Release);
    let table = ALL.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if table.is_null() {
        return false;
    }
    // SAFETY: mapped by `make_table`; nobody looks at it any more.
    let _ = unsafe { sys::munmap(table as usize, ROOM.load(Ordering::Relaxed)) };
    sys::set_blocked_signals(BLOCKED.load(Ordering::Relaxed));
    if PUT_UP.load(Ordering::Relaxed) {
        sigsegv::HANDLER.remove();
    }
    true
}
