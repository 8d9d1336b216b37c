//! Every extent that we have, by its address.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::extent::page_sizes::Layout;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, mlocked};
use crate::rt::bell::Bell;
use crate::sys::{Errno, Result};

/// The extents of the heap and of the program's segments.
static EXTENTS: Places<FEW> = Places::none();

const FEW: usize = 512;

/// Who looks at extents just now without being sure that they stay.
static READERS: AtomicU32 = AtomicU32::new(0);

/// Rung when there is one reader less.
static QUIET: Bell = Bell::new();

/// Places for extents.
struct Places<const N: usize> {
    slots: [AtomicPtr<Extent>; N],
    /// No extent stands at or behind this place.
    end: AtomicUsize,
    /// Below this place there is hardly a free one.
    full: AtomicUsize,
}

impl<const N: usize> Places<N> {
    const fn none() -> Places<N> {
        Places {
            slots: [const { AtomicPtr::new(core::ptr::null_mut()) }; N],
            end: AtomicUsize::new(0),
            full: AtomicUsize::new(0),
        }
    }

    /// Enters an extent; whether there was a place.
    fn enter(&self, extent: &'static Extent) -> bool {
        let new = core::ptr::from_ref(extent).cast_mut();
        let null = core::ptr::null_mut();
        let take = |place: &usize| {
            let slot = &self.slots[*place];
            slot.compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        let full = self.full.load(Ordering::Relaxed);
        let Some(place) = (full..N).chain(0..full).find(take) else {
            return false;
        };
        self.full.store(place + 1, Ordering::Relaxed);
        self.end.fetch_max(place + 1, Ordering::AcqRel);
        true
    }

    /// The place of an extent.
    fn place_of(&self, extent: &'static Extent) -> Option<usize> {
        let sought = core::ptr::from_ref(extent).cast_mut();
        let is_sought = |slot: &AtomicPtr<Extent>| slot.load(Ordering::Relaxed) == sought;
        self.used().iter().position(is_sought)
    }

    /// Frees a place.
    fn leave(&self, place: usize) {
        self.slots[place].store(core::ptr::null_mut(), Ordering::SeqCst);
        self.full.fetch_min(place, Ordering::Relaxed);
    }

    fn used(&self) -> &[AtomicPtr<Extent>] {
        let end = self.end.load(Ordering::Acquire);
        &self.slots[..end]
    }

    fn all(&'static self) -> impl Iterator<Item = &'static Extent> {
        self.used().iter().filter_map(load)
    }
}

/// Reserves an extent and enters it; see [`Extent::reserve`].
///
/// # Errors
/// When there is no address space, no memory for its tables, or no place in
/// the register.
pub fn create(lead: usize, len: usize, align: usize, layout: Layout) -> Result<&'static Extent> {
    entered(Extent::reserve(lead, len, align, layout)?)
}

fn entered(extent: &'static Extent) -> Result<&'static Extent> {
    if EXTENTS.enter(extent) {
        mlocked::came(&(extent.base..extent.base + extent.len));
        return Ok(extent);
    }
    extent.free();
    Err(Errno(libc::ENOMEM))
}

/// Enters memory that the program has already; see [`Extent::adopt`]. To be
/// called before hugetlb pages are put there: a fork must know of them.
///
/// # Errors
/// When there is no memory for its tables, or no place in the register.
pub fn adopt(
    range: Range<usize>,
    layout: Layout,
    holds: Holds,
    prot: c_int,
) -> Result<&'static Extent> {
    let extent = Extent::adopt(range, layout, holds, prot)?;
    if EXTENTS.enter(extent) {
        return Ok(extent);
    }
    extent.free();
    Err(Errno(libc::ENOMEM))
}

/// Takes an extent out of the register and frees it.
pub fn destroy(extent: &'static Extent) {
    mlocked::cut(&(extent.base..extent.base + extent.len));
    if let Some(place) = EXTENTS.place_of(extent) {
        EXTENTS.leave(place);
    }
    match nobody_looks() {
        true => extent.free(),
        // Its tables stay: better a page lost than waiting for a thread that
        // this one may have interrupted.
        false => extent.free_memory(),
    }
}

/// Whether nobody looks at extents, at the latest after a while.
fn nobody_looks() -> bool {
    const PATIENCE: u64 = 10;
    QUIET.wait_for(PATIENCE, || READERS.load(Ordering::SeqCst) == 0)
}

/// All extents. They are to be gone through within a [`look`], but by a fork, which waits
/// for all others: another thread may free the tables of any of them.
pub fn extents() -> impl Iterator<Item = &'static Extent> {
    EXTENTS.all()
}

#[expect(unsafe_code, reason = "follows the pointers of the register")]
fn load(slot: &AtomicPtr<Extent>) -> Option<&'static Extent> {
    let extent = slot.load(Ordering::SeqCst);
    // SAFETY: entered extents stay until they were taken out again and those
    // who look were waited for; nobody uses one that he has destroyed himself.
    unsafe { extent.as_ref() }
}

/// The extent that holds an address. It stays for as long as the caller knows
/// that the address is in use, or looks.
pub fn extent_at(addr: usize) -> Option<&'static Extent> {
    look(|| extents().find(|extent| extent.contains(addr)))
}

/// Whether any extent meets a range.
pub fn meets(range: &Range<usize>) -> bool {
    let overlaps =
        |extent: &'static Extent| extent.base < range.end && range.start < extent.base + extent.len;
    look(|| EXTENTS.all().any(overlaps))
}

/// Whether an address lies in an extent.
pub fn holds(addr: usize) -> bool {
    look(|| extent_at(addr).is_some())
}

/// Runs a look at extents of others: none that it finds goes away meanwhile.
pub fn look<T>(reader: impl FnOnce() -> T) -> T {
    begin_look();
    let result = reader();
    end_look();
    result
}

/// The same, until [`end_look`]: for as long as the tables of extents are needed,
/// whatever becomes of the memory.
pub(crate) fn begin_look() {
    READERS.fetch_add(1, Ordering::SeqCst);
}

/// See [`begin_look`].
pub(crate) fn end_look() {
    let one_less = |count: u32| count.checked_sub(1);
    // In the child of a fork by a handler of a signal the look that it interrupted ends,
    // and is not counted.
    let _ = READERS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    QUIET.ring();
}

/// In the child of a fork: changes that other threads were at never end there.
/// What a unit was before still holds, or is less than what there is.
pub(crate) fn adopt_units() {
    for extent in extents() {
        let was = |before: State| match before {
            // What lies there is cleared before it is used.
            State::Empty => State::EmptyHuge,
            other => other,
        };
        extent.units().iter().for_each(|unit| unit.adopt(was));
    }
}

/// In the child of a fork: handlers of other threads did not come along.
pub(crate) fn forget_readers() {
    READERS.store(0, Ordering::SeqCst);
}
