//! The register: every region of memory that we have handed out.

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::gate::Gate;
use crate::layout::Layout;
use crate::sys::{self, Errno, Result};
use crate::window::{Holds, Window};

/// Passed by whoever changes what stands behind windows, closed by a fork.
pub static GATE: Gate = Gate::new();

const PLACES: usize = 512;

static WINDOWS: [AtomicPtr<Window>; PLACES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; PLACES];

/// No window stands at or behind this place.
static END: AtomicUsize = AtomicUsize::new(0);

/// Signal handlers that look at a window just now, without the gate.
static READERS: AtomicU32 = AtomicU32::new(0);

/// Reserves a window and enters it; see [`Window::reserve`].
///
/// # Errors
/// When there is no address space, no memory for its tables, or no place in
/// the register.
pub fn create(lead: usize, len: usize, align: usize, layout: Layout) -> Result<&'static Window> {
    entered(Window::reserve(lead, len, align, layout)?)
}

/// Reserves a window for one block that may grow and enters it; see
/// [`Window::reserve_growing`].
///
/// # Errors
/// As for [`create`].
pub fn create_growing(len: usize, layout: Layout) -> Result<&'static Window> {
    entered(Window::reserve_growing(len, layout)?)
}

fn entered(window: &'static Window) -> Result<&'static Window> {
    if enter(window) {
        return Ok(window);
    }
    window.free();
    Err(Errno(libc::ENOMEM))
}

/// Enters memory that the program has already; see [`Window::adopt`]. To be
/// called before hugetlb pages are put there: a fork must know of them.
///
/// # Errors
/// When there is no memory for its tables, or no place in the register.
pub fn adopt(
    range: Range<usize>,
    layout: Layout,
    holds: Holds,
    prot: c_int,
) -> Result<&'static Window> {
    let window = Window::adopt(range, layout, holds, prot)?;
    match enter(window) {
        true => Ok(window),
        false => Err(Errno(libc::ENOMEM)),
    }
}

/// Takes a window out of the register and frees it.
pub fn destroy(window: &'static Window) {
    leave(window);
    window.free();
}

/// Enters a window; whether there was a place for it.
fn enter(window: &'static Window) -> bool {
    let new = core::ptr::from_ref(window).cast_mut();
    for (place, slot) in WINDOWS.iter().enumerate() {
        let null = core::ptr::null_mut();
        let taken = slot.compare_exchange(null, new, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            END.fetch_max(place + 1, Ordering::AcqRel);
            return true;
        }
    }
    false
}

/// Takes a window out, and waits until no signal handler looks at it.
fn leave(window: &'static Window) {
    let old = core::ptr::from_ref(window).cast_mut();
    for slot in &WINDOWS {
        let null = core::ptr::null_mut();
        let _ = slot.compare_exchange(old, null, Ordering::AcqRel, Ordering::Relaxed);
    }
    while READERS.load(Ordering::SeqCst) != 0 {
        sys::yield_now();
    }
}

/// All windows.
pub fn windows() -> impl Iterator<Item = &'static Window> {
    let end = END.load(Ordering::Acquire);
    WINDOWS[..end].iter().filter_map(|slot| load(slot))
}

#[expect(unsafe_code, reason = "follows the pointers of the register")]
fn load(slot: &AtomicPtr<Window>) -> Option<&'static Window> {
    let window = slot.load(Ordering::SeqCst);
    // SAFETY: entered windows stay until `leave`, which comes before they are
    // freed; the allocator uses no window that it has destroyed, and
    // signal handlers are waited for.
    unsafe { window.as_ref() }
}

/// The window that holds an address.
pub fn window_at(addr: usize) -> Option<&'static Window> {
    windows().find(|window| window.contains(addr))
}

/// Whether any window meets a range.
pub fn meets(range: &Range<usize>) -> bool {
    windows().any(|window| window.base < range.end && range.start < window.base + window.len)
}

/// Runs a signal handler's look at the windows: none that it finds goes away
/// meanwhile.
pub fn look<T>(reader: impl FnOnce() -> T) -> T {
    READERS.fetch_add(1, Ordering::SeqCst);
    let result = reader();
    READERS.fetch_sub(1, Ordering::SeqCst);
    result
}

/// In the child of a fork: handlers of other threads did not come along.
pub(crate) fn forget_readers() {
    READERS.store(0, Ordering::SeqCst);
}
