//! Copies for the child of a fork, where the parent's own memory must stay as
//! and where it is: a device writes to it, or may.
//!
//! Before the fork, what lies on private hugetlb pages is copied aside, and the
//! kernel is told not to give those pages to the child (`MADV_DONTFORK`). The
//! child puts the copies in their place; the parent drops them. Neither shares
//! a hugetlb page with the other, so neither ever needs a second one.
//!
//! All of it is protected from others while it is copied and until libc has forked
//! ([`wp_monitor`]), so that the child has it, and ordinary memory, as they were at one
//! moment. Pages that the thread itself, or the kernel for it, writes until then are
//! shared.
//!
//! libc touches its own blocks in the child before our handler runs there, as
//! for the locks of open files: a fault in the gap puts the copies in place.
#![expect(unsafe_code, reason = "writes to a table of mapped memory")]

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, index};
use crate::fault::sigsegv;
use crate::kernel::facts;
use crate::migrate::shield::Shield;
use crate::sys;

use super::asides::{self, Aside, all};
use super::shared::Copied;
use super::{Descriptors, torn, wp_monitor};
use crate::migrate::runs;

/// How many of the asides the child has put in place.
static PUT: AtomicUsize = AtomicUsize::new(0);
/// The thread that made them, by name: the only one that its child has. (Numbers of
/// processes are no help: in a name space of its own the child may have its parent's.)
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// Whether the handler for faults was put up for this fork.
static PUT_UP: AtomicBool = AtomicBool::new(false);

/// Copies all that a child may write to, while the shield keeps others from it;
/// how many bytes. What cannot be copied is shared with the child, as the kernel
/// does it, and so is what `which` leaves out. The gate must stay closed until
/// [`in_parent`] or [`in_child`]; the shield keeps others from it until then, unless the
/// child's descriptors would be the parent's.
///
/// Who has waited at the gate goes through, and may want to give back what is being
/// copied: so all of it is claimed meanwhile.
pub(super) fn begin(shield: Shield, which: &Copied, descriptors: Descriptors) -> usize {
    if !asides::make_table(runs_to_copy(which).count()) {
        return 0;
    }
    index::begin_look();
    PUT_UP.store(sigsegv::install(mend), Ordering::Relaxed);
    FORKING.store(sys::thread_name(), Ordering::Relaxed);
    PUT.store(0, Ordering::Relaxed);
    let asides = claim(which);
    let mut copied = 0;
    let is_closed = shield.close(asides.iter().map(Aside::range));
    if is_closed {
        for aside in &mut *asides {
            copied += aside.copy().map_or(0, |()| aside.used());
        }
    }
    asides.iter().for_each(Aside::release);
    asides::publish(asides.len());
    torn::note(facts::has_threads());
    match shield {
        Shield::Whole(protection) if is_closed && descriptors == Descriptors::Copied => {
            if let Err(protection) = wp_monitor::begin(protection) {
                wp_monitor::open_to_all(&protection);
            }
        }
        shield => shield.open(asides.iter().map(Aside::range)),
    }
    copied
}

/// Claims what is to be copied, as far as there is room for it in the table.
fn claim(which: &Copied) -> &'static mut [Aside] {
    let (table, room) = asides::room();
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
        let is_wanted = |now: State| now.is_hugetlb() && state.is_none_or(|state| state == now);
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

/// Puts the copies in place that are not yet. A signal handler may do it in
/// the middle of it: what is put twice fails the second time, and stays.
fn put_all() {
    for (at, aside) in all().iter().enumerate().skip(PUT.load(Ordering::Relaxed)) {
        aside.put();
        PUT.store(at + 1, Ordering::Relaxed);
    }
}

/// Whether a fault at this address was one in the gap of a child; it is closed
/// now. In other threads of the parent, for which the table may go at any time, there is
/// no gap.
fn mend(addr: usize) -> bool {
    let is_forking = FORKING.load(Ordering::Relaxed) == sys::thread_name();
    let is_in = |aside: &Aside| aside.has_copy() && aside.range().contains(&addr);
    let is_gap = is_forking && all().iter().any(is_in);
    if is_gap {
        put_all();
    }
    is_gap
}

/// After the fork, or its failure, in the parent.
pub(super) fn in_parent() {
    wp_monitor::end();
    all().iter().for_each(Aside::drop_copy);
    if end() {
        index::end_look();
    }
}

/// After the fork in the child; whether there were copies.
pub(super) fn in_child() -> bool {
    wp_monitor::forget();
    put_all();
    let any = all().iter().any(Aside::has_copy);
    end();
    if any {
        torn::mend();
    }
    any
}

/// Whether there was anything to end.
fn end() -> bool {
    let any = asides::drop_table();
    if any && PUT_UP.load(Ordering::Relaxed) {
        sigsegv::HANDLER.remove();
    }
    any
}
