//! Collapses base pages of a grown heap into transparent huge pages where most are touched.
//! Nothing moves to the pool: that would need a copy.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::kernel::facts;
use crate::policy::thp;
use crate::sys;

/// Collapses them when the heap gets its first huge pages. Called with no unit claimed.
pub(super) fn collapse_once() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.load(Ordering::Relaxed) || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // `mincore` may be forbidden by a filter.
    if facts::has_filter() || !thp::may_serve_heap() || thp::serves_private().is_err() {
        return;
    }
    index::read(|| {
        let heaps = index::extents().filter(|extent| extent.holds == Holds::Heap);
        heaps.for_each(collapse);
    });
}

fn collapse(extent: &Extent) {
    for (index, unit) in extent.units().iter().enumerate() {
        let (addr, len) = (extent.address(index), extent.layout.unit);
        if unit.load().0 != State::Base || !is_mostly_touched(addr, len) {
            continue;
        }
        let Some(used) = unit.claim(State::Base) else {
            continue;
        };
        // SAFETY: mapped by us; the advice changes no contents.
        let state = unsafe { thp::advise(addr, len) };
        // SAFETY: likewise. After a failure the pages stay.
        let _ = unsafe { thp::collapse(addr, len) };
        unit.publish(state, used);
    }
}

/// Whether most pages of a range exist.
fn is_mostly_touched(addr: usize, len: usize) -> bool {
    const PAGES: usize = 512;
    let page = sys::page_size();
    let mut touched = 0;
    for part in (addr..addr + len).step_by(PAGES * page) {
        let mut exists = [0_u8; PAGES];
        let len = (PAGES * page).min(addr + len - part);
        let call = [part, len, exists.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the buffer has one byte for each page.
        if unsafe { sys::any_call(libc::SYS_mincore, call) }.is_err() {
            return false;
        }
        touched += exists.iter().filter(|byte| **byte & 1 == 1).count();
    }
    touched * page * 2 >= len
}
