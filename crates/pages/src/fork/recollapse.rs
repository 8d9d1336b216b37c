//! After a fork, each base page that is written is copied by itself, and the
//! transparent huge page around it comes apart, for good. Once the child is
//! gone the parts join again: a few at a time, in calls of the program, so that
//! none of them takes long.
#![expect(unsafe_code, reason = "advises memory and calls a function by address")]

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::policy::thp;
use crate::rt::{fork_gate, side_stack};
use crate::sys;

/// How long one call takes, and how long the next one is off, in milliseconds.
const LENGTH: u64 = 1;
const PAUSE: u64 = 10;

/// How long a child is given before another look at whether it lives.
const PATIENCE: u64 = 500;

/// Units that are looked at in one call: those that are whole take no time.
const AT_ONCE: usize = 64;

/// Whether there may be something to join.
static PENDING: AtomicBool = AtomicBool::new(false);

/// When to go on.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// How many units were gone through, in the order of the register.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// What has the calls of the program come here; 0 for nothing.
static WAKER: AtomicUsize = AtomicUsize::new(0);

/// Says what has the calls of the program come here: it is called when there is
/// something to join, and [`go_on`] then in calls of the program.
pub fn set_waker(waker: fn()) {
    WAKER.store(waker as usize, Ordering::Release);
}

/// Notes in the parent that there was a fork.
pub(crate) fn forked() {
    let waker = WAKER.load(Ordering::Acquire);
    if waker == 0 || !thp::may_serve_heap() {
        return;
    }
    DONE.store(0, Ordering::Relaxed);
    PENDING.store(true, Ordering::Release);
    // SAFETY: what `set_waker` was given.
    let wake = unsafe { core::mem::transmute::<usize, fn()>(waker) };
    wake();
}

/// In the child, whose parent keeps the pages whole or not.
pub(crate) fn forget() {
    PENDING.store(false, Ordering::Relaxed);
}

/// Whether there may be something to join.
pub fn is_pending() -> bool {
    PENDING.load(Ordering::Acquire)
}

/// Goes on, where it is time. `now` are milliseconds of the monotonic clock.
pub fn go_on(now: u64) {
    let due = NEXT.load(Ordering::Relaxed);
    let is_mine = |pause| {
        let next = now + pause;
        let mine = NEXT.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        mine.is_ok()
    };
    if now < due {
        return;
    }
    if sys::has_child() != Some(false) {
        is_mine(PATIENCE);
    } else if is_mine(PAUSE) {
        // A handler of a signal that forks would meet a unit that is being changed.
        side_stack::on_side_stack(|| {
            let _pass = fork_gate::GATE.pass();
            index::look(join);
        });
    }
}

/// Joins some.
fn join() {
    let from = DONE.load(Ordering::Relaxed);
    if from == 0 && thp::serves_private().is_err() {
        PENDING.store(false, Ordering::Release);
        return;
    }
    let end = sys::now() + LENGTH;
    let (mut done, mut looked_at) = (from, 0);
    for (extent, unit) in units().skip(from) {
        done += 1;
        if join_unit(extent, unit) {
            looked_at += 1;
            if looked_at == AT_ONCE || sys::now() > end {
                break;
            }
        }
    }
    DONE.store(done, Ordering::Relaxed);
    if done == from {
        PENDING.store(false, Ordering::Release);
    }
}

/// The units of the heap. Where extents come or go from one call to the next,
/// some are gone through twice or not at all.
fn units() -> impl Iterator<Item = (&'static Extent, usize)> {
    let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
    extents.flat_map(|extent| (0..extent.units().len()).map(move |unit| (extent, unit)))
}

/// Has a unit on one transparent huge page again; whether it is to be on one.
fn join_unit(extent: &Extent, unit: usize) -> bool {
    let word = &extent.units()[unit];
    let Some(used) = word.claim(State::Thp) else {
        return false;
    };
    if used > 0 {
        // SAFETY: mapped by us. Where it fails the pages stay as they are.
        let _ = unsafe { thp::collapse(extent.address(unit), extent.layout.unit) };
    }
    word.publish(State::Thp, used);
    true
}
