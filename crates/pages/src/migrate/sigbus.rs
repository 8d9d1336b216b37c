//! The net below: a write that needs another hugetlb page, after a fork that
//! our fork handler did not see (raw `clone`) or could not prepare, raises
//! `SIGBUS`. The page can still be read: it is copied to ordinary memory, and
//! the write is tried again.
#![expect(unsafe_code, reason = "is entered by the kernel")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, index, spare_range};
use crate::fault::sigchain::Handler;
use crate::fault::{late, sigmask, sigsegv};
use crate::kernel::dma_users::{self, Writers};
use crate::kernel::pagemap;
use crate::migrate::shield::Shield;
use crate::migrate::{in_place, off_pool};
use crate::policy::pool_backoff::{self, Shortfall};
use crate::rt::side_stack;
use crate::sys::{self, Filter, PastLimit};

/// The handler of `SIGBUS`.
pub static HANDLER: Handler = Handler::new(libc::SIGBUS, mend, on_sigbus);

extern "C" fn on_sigbus(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own arguments.
    unsafe { HANDLER.enter(info, context) };
}

/// Puts up the net; to be called before a page of this size is anybody's: a fork of
/// another thread may meet it then, and that counts on the handlers.
pub fn guard(page: usize) {
    spare_range::keep(page);
    stand();
}

/// Has the handlers stand, also for threads that block their signals: to be called before
/// memory is anybody's that others may be kept from for a moment.
pub fn stand() {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Of two threads that come at once neither goes on before it is up.
    if !DONE.load(Ordering::Acquire) {
        // There is one then: at a fault there may be no mapping to spare.
        side_stack::on_side_stack(|| ());
        HANDLER.install();
        sigsegv::HANDLER.install();
        sigmask::begin();
        DONE.store(true, Ordering::Release);
    }
}

/// Whether the fault at this address was mended.
fn mend(addr: usize) -> bool {
    let Some(extent) = index::extent_at(addr) else {
        return false;
    };
    let mend = || index::look(|| mend_unit(extent, extent.unit_at(addr)));
    // The program's own for its handlers may be small.
    side_stack::on_side_stack(mend)
}

fn mend_unit(extent: &Extent, unit: usize) -> bool {
    let word = &extent.units()[unit];
    if !word.load().0.is_ours_to_mend() {
        return false;
    }
    // Another thread may be mending it.
    let (state, _) = word.settled();
    if state.is_hugetlb() && state.is_ours_to_mend() {
        return mend_page(extent, unit, state);
    }
    late::is_to_be_tried_again(extent.address(unit))
}

/// Sees to it that the page of a unit can be written without another one of the
/// pool; whether it can, or is another one by now.
///
/// What keeps it from that may be another thread that has the last descriptor or the
/// last address space, or is at the same page and fails: it is tried for a while.
pub(crate) fn mend_page(extent: &Extent, unit: usize, state: State) -> bool {
    const TIMES: u32 = 50;
    const PAUSE: u64 = 2;
    static NOBODY_WAKES: AtomicU32 = AtomicU32::new(0);
    // The program may have no descriptor to spare.
    let _past_limit = PastLimit::begin();
    (0..TIMES).any(|time| {
        if time > 0 {
            sys::futex_wait_for(&NOBODY_WAKES, 0, PAUSE);
        }
        // Where another thread is at it this one waits for that.
        mend_once(extent, unit, state) || extent.units()[unit].settled().0 != state
    })
}

/// It moves off the pool while another process maps it. One that this process maps
/// alone need not: the kernel lets it be written as it is, and a device may be
/// writing there, since that never happens to a page which is shared.
fn mend_once(extent: &Extent, unit: usize, state: State) -> bool {
    let page = extent.page_of(unit, state);
    let addr = extent.address(page.start);
    let is_alone = || is_alone(addr);
    if is_alone() {
        late::note();
        return true;
    }
    let shield = Shield::best();
    let moved = off_pool::move_units_where(extent, page, state, &shield, || !is_alone()).is_ok()
        || move_in_place(extent, &shield);
    if moved {
        pool_backoff::BACKOFF.note(Shortfall::Copy);
    }
    let mended = moved || is_alone();
    if mended {
        late::note();
    }
    mended
}

/// Whether this process maps the page at an address alone; no where it cannot be told.
fn is_alone(addr: usize) -> bool {
    // A call that the program does not make may be deadly under a filter.
    sys::filter() == Filter::None && pagemap::is_shared(addr) == Some(false)
}

/// Moves all of an extent where no mapping is left to move a part of it, and no ring
/// or device may be writing to any of it.
fn move_in_place(extent: &Extent, shield: &Shield) -> bool {
    // Under a filter that is not done, and nothing need be looked at.
    sys::filter() == Filter::None
        && dma_users::writers() != Writers::Anytime
        && in_place::move_extent(extent, shield) > 0
}
