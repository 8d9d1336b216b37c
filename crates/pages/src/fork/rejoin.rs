//! After a fork, each base page that is written is copied by itself, and the
//! transparent huge page around it comes apart, for good. Once the child is
//! gone the parts join again: a few at a time, in calls of the program, so that
//! none of them takes long.
#![expect(unsafe_code, reason = "advises memory and calls a function by address")]

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::unit::State;
use crate::window::{Holds, Window};
use crate::{grown, register, sys, thp};

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
    if waker == 0 || !grown::is_asked_for() {
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
        let _pass = register::GATE.pass();
        register::look(join);
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
    for (window, unit) in units().skip(from) {
        done += 1;
        if join_unit(window, unit) {
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

/// The units of the heap. Where windows come or go from one call to the next,
/// some are gone through twice or not at all.
fn units() -> impl Iterator<Item = (&'static Window, usize)> {
    let windows = register::windows().filter(|window| window.holds == Holds::Heap);
    windows.flat_map(|window| (0..window.units().len()).map(move |unit| (window, unit)))
}

/// Has a unit on one transparent huge page again; whether it is to be on one.
fn join_unit(window: &Window, unit: usize) -> bool {
    let word = &window.units()[unit];
    let Some(used) = word.claim(State::Thp) else {
        return false;
    };
    if used > 0 {
        // SAFETY: mapped by us. Where it fails the pages stay as they are.
        let _ = unsafe { thp::collapse(window.address(unit), window.layout.unit) };
    }
    word.publish(State::Thp, used);
    true
}
