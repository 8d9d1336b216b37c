//! A heap that has grown: the base pages of its small beginning become transparent huge
//! pages.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use crate::config;
use crate::extent::unit::State;
use crate::extent::usage::{GROWN_HEAP, in_use};
use crate::extent::{Extent, block_end, index};
use crate::policy::thp;

/// Whether it was done.
static DONE: AtomicBool = AtomicBool::new(false);

/// Does it once, when the heap has grown.
pub fn watch() {
    let has_grown = in_use() >= GROWN_HEAP && !DONE.swap(true, Ordering::Relaxed);
    if has_grown && config::get().heap.is_some() {
        index::look(raise);
    }
}

fn raise() {
    if thp::may_serve_heap() && thp::serves_private().is_ok() {
        index::extents().for_each(collapse);
    }
}

fn collapse(extent: &Extent) {
    let units = extent.units().iter().enumerate();
    for (index, unit) in units.filter(|(index, _)| !block_end::is_plain(extent, *index)) {
        let Some(used) = unit.claim(State::Base) else {
            continue;
        };
        let (addr, len) = (extent.address(index), extent.layout.unit);
        // SAFETY: mapped by us; the advice changes no contents.
        let state = unsafe { thp::advise(addr, len) };
        // SAFETY: likewise. Where it fails the pages stay as they are.
        let _ = unsafe { thp::collapse(addr, len) };
        unit.publish(state, used);
    }
}
