//! The table of all extents.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::extent::page_sizes::Layout;
use crate::extent::{Extent, Holds};
use crate::sys::{Errno, Result};

/// Maximum number of extents.
const MAX: usize = 512;

/// The extents of the heap and of segments.
static SLOTS: [AtomicPtr<Extent>; MAX] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX];

/// End of the slots that were ever used.
static END: AtomicUsize = AtomicUsize::new(0);

/// Adds an extent; returns whether there was a slot.
fn enter(extent: &'static Extent) -> bool {
    let new = core::ptr::from_ref(extent).cast_mut();
    let null = core::ptr::null_mut();
    let take = |place: &usize| {
        SLOTS[*place]
            .compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    };
    let Some(place) = (0..MAX).find(take) else {
        return false;
    };
    END.fetch_max(place + 1, Ordering::AcqRel);
    true
}

fn used() -> &'static [AtomicPtr<Extent>] {
    &SLOTS[..END.load(Ordering::Acquire)]
}

/// Reserves an extent and adds it; see [`Extent::reserve`].
///
/// # Errors
/// If there is no address space, no memory for its tables, or no slot.
pub fn create(lead: usize, len: usize, layout: Layout) -> Result<&'static Extent> {
    let extent = Extent::reserve(lead, len, layout)?;
    if enter(extent) {
        return Ok(extent);
    }
    extent.unmap();
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
    enter(extent).then_some(extent).ok_or(Errno(libc::ENOMEM))
}

/// Removes an unused extent. Its tables are leaked, since other threads may be reading them.
pub fn destroy(extent: &'static Extent) {
    let sought = core::ptr::from_ref(extent).cast_mut();
    let slot = (used().iter()).find(|slot| slot.load(Ordering::Relaxed) == sought);
    slot.inspect(|slot| slot.store(core::ptr::null_mut(), Ordering::SeqCst));
    extent.unmap();
}

/// All extents.
pub fn extents() -> impl Iterator<Item = &'static Extent> {
    used().iter().filter_map(load)
}

#[expect(unsafe_code, reason = "follows pointers of the table")]
fn load(slot: &AtomicPtr<Extent>) -> Option<&'static Extent> {
    let extent = slot.load(Ordering::SeqCst);
    // SAFETY: tables of extents are never freed.
    unsafe { extent.as_ref() }
}

/// Whether an extent overlaps a range.
pub fn overlaps(range: &Range<usize>) -> bool {
    let has_overlap =
        |extent: &'static Extent| extent.base < range.end && range.start < extent.base + extent.len;
    extents().any(has_overlap)
}

/// Finishes, in the child of a fork, changes begun by other threads.
pub(crate) fn adopt_units() {
    for extent in extents() {
        for (number, unit) in extent.units().iter().enumerate() {
            unit.adopt(|before| match before.is_empty() {
                #[expect(unsafe_code, reason = "unmaps what was not handed out")]
                // SAFETY: unused before the change, and its thread doesn't exist here.
                true => unsafe { extent.clear(&(number..number + 1)) },
                false => before,
            });
        }
    }
}
