//! Address space for one more copy, kept for when there is none left: a program
//! may limit its address space (`ulimit -v`) and use it up, and what it shares with
//! a child on pages of pools must still be able to move off them. It costs no
//! memory.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::extent::address_space;
use crate::kernel::facts;

/// The most that is kept: larger pages are moved in smaller parts, or not at all.
const MOST: usize = 32 << 20;

/// Where it lies, and how long it is; 0 where there is none.
static PLACE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Sees to it that there is one, of this length where it is the first.
pub fn keep(len: usize) {
    let len = match LEN.load(Ordering::Acquire) {
        0 => len,
        known => known,
    };
    if len > MOST || PLACE.load(Ordering::Acquire) != 0 {
        return;
    }
    let Ok(at) = address_space::reserve(len, facts::thp_size().max(len)) else {
        return;
    };
    LEN.store(len, Ordering::Release);
    let place = &PLACE;
    if place
        .compare_exchange(0, at, Ordering::AcqRel, Ordering::Relaxed)
        .is_err()
    {
        address_space::release(at, len);
    }
}

/// Takes it, where it is as long as that.
pub fn take(len: usize) -> Option<usize> {
    if len != LEN.load(Ordering::Acquire) {
        return None;
    }
    match PLACE.swap(0, Ordering::AcqRel) {
        0 => None,
        at => Some(at),
    }
}
