//! The table of all extents.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::extent::page_sizes::Layout;
use crate::extent::unit::State;
use crate::extent::{Extent, Holds, mlocked};
use crate::rt::wait_queue::WaitQueue;
use crate::sys::{Errno, Result};

/// Maximum number of extents.
const MAX: usize = 512;

/// Number of threads inside [`read`].
static READERS: AtomicU32 = AtomicU32::new(0);

/// Woken when a reader leaves.
static QUIET: WaitQueue = WaitQueue::new();

/// The extents of the heap and of segments.
static SLOTS: [AtomicPtr<Extent>; MAX] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX];

/// End of the slots that were ever used.
static END: AtomicUsize = AtomicUsize::new(0);

/// Where the search for a free slot begins: most slots below are taken.
static SEARCH_START: AtomicUsize = AtomicUsize::new(0);

/// Adds an extent; returns whether there was a slot.
fn enter(extent: &'static Extent) -> bool {
    let new = core::ptr::from_ref(extent).cast_mut();
    let null = core::ptr::null_mut();
    let take = |place: &usize| {
        SLOTS[*place]
            .compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    };
    let start = SEARCH_START.load(Ordering::Relaxed);
    let Some(place) = (start..MAX).chain(0..start).find(take) else {
        return false;
    };
    SEARCH_START.store(place + 1, Ordering::Relaxed);
    END.fetch_max(place + 1, Ordering::AcqRel);
    true
}

/// Frees the slot of an extent.
fn leave(extent: &'static Extent) {
    let sought = core::ptr::from_ref(extent).cast_mut();
    let is_sought = |slot: &AtomicPtr<Extent>| slot.load(Ordering::Relaxed) == sought;
    if let Some(place) = used().iter().position(is_sought) {
        SLOTS[place].store(core::ptr::null_mut(), Ordering::SeqCst);
        SEARCH_START.fetch_min(place, Ordering::Relaxed);
    }
}

fn used() -> &'static [AtomicPtr<Extent>] {
    &SLOTS[..END.load(Ordering::Acquire)]
}

/// Reserves an extent and adds it; see [`Extent::reserve`].
///
/// # Errors
/// If there is no address space, no memory for its tables, or no slot.
pub fn create(lead: usize, len: usize, align: usize, layout: Layout) -> Result<&'static Extent> {
    let extent = Extent::reserve(lead, len, align, layout)?;
    if enter(extent) {
        mlocked::note_mapping(&(extent.base..extent.base + extent.len));
        return Ok(extent);
    }
    extent.free();
    Err(Errno(libc::ENOMEM))
}

/// Adds memory that the program uses already; see [`Extent::adopt`]. Call it before hugetlb
/// pages are put there, so that forks know of them.
pub fn adopt(
    range: Range<usize>,
    layout: Layout,
    holds: Holds,
    prot: c_int,
) -> Result<&'static Extent> {
    let extent = Extent::adopt(range, layout, holds, prot)?;
    if enter(extent) {
        return Ok(extent);
    }
    extent.free();
    Err(Errno(libc::ENOMEM))
}

/// Removes an extent and frees it.
pub fn destroy(extent: &'static Extent) {
    mlocked::remove(&(extent.base..extent.base + extent.len));
    leave(extent);
    match has_no_readers() {
        true => extent.free(),
        // Leaks the tables: the reader may be this thread itself, interrupted by a signal.
        false => extent.free_memory(),
    }
}

/// Waits briefly for readers of the table; returns whether there are none.
fn has_no_readers() -> bool {
    /// Timeout in ms.
    const TIMEOUT: u64 = 10;
    QUIET.wait_for(TIMEOUT, || READERS.load(Ordering::SeqCst) == 0)
}

/// All extents. Call it inside [`read`], since another thread may free their tables; the child
/// of a fork may call it outside.
pub fn extents() -> impl Iterator<Item = &'static Extent> {
    used().iter().filter_map(load)
}

#[expect(unsafe_code, reason = "follows pointers of the table")]
fn load(slot: &AtomicPtr<Extent>) -> Option<&'static Extent> {
    let extent = slot.load(Ordering::SeqCst);
    // SAFETY: an extent is freed only after it left the table and all readers ended; no thread
    // uses an extent after destroying it.
    unsafe { extent.as_ref() }
}

/// Whether an extent overlaps a range.
pub fn overlaps(range: &Range<usize>) -> bool {
    let has_overlap =
        |extent: &'static Extent| extent.base < range.end && range.start < extent.base + extent.len;
    read(|| extents().any(has_overlap))
}

/// Runs `reader`; meanwhile no extent's tables are freed.
pub fn read<T>(reader: impl FnOnce() -> T) -> T {
    READERS.fetch_add(1, Ordering::SeqCst);
    let result = reader();
    let one_less = |count: u32| count.checked_sub(1);
    // If a signal handler interrupted this reader and forked, the child has reset the count.
    let _ = READERS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    QUIET.wake_all();
    result
}

/// Finishes, in the child of a fork, changes begun by other threads.
pub(crate) fn adopt_units() {
    for extent in extents() {
        let settle = |before: State| match before {
            // Perhaps a hugetlb mapping by now, but not handed out.
            State::Empty => State::EmptyHuge,
            other => other,
        };
        extent.units().iter().for_each(|unit| unit.adopt(settle));
    }
}

/// Resets the readers in the child of a fork.
pub(crate) fn forget_readers() {
    READERS.store(0, Ordering::SeqCst);
}
