//! A heap that has grown: the base pages of its small beginning become transparent huge
//! pages.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use crate::config;
use crate::extent::unit::State;
use crate::extent::usage::{GROWN_HEAP, in_use};
use crate::extent::{Extent, index};
use crate::kernel::facts;
use crate::policy::thp;
use crate::rt::fork_gate;
use crate::sys;

/// Set once the heap has grown.
static DONE: AtomicBool = AtomicBool::new(false);

/// Moves the small beginning up, once, when the heap has grown. To be called without a unit
/// taken.
pub fn watch() {
    if in_use() < GROWN_HEAP || DONE.load(Ordering::Relaxed) || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // A system call is needed that a filter may not allow.
    if config::get().heap.is_some() && !facts::has_filter() {
        let _pass = fork_gate::GATE.pass();
        index::look(raise);
    }
}

fn raise() {
    if thp::may_serve_heap() && thp::serves_private().is_ok() {
        index::extents().for_each(collapse);
    }
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
        // SAFETY: likewise. Where it fails the pages stay as they are.
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
        // SAFETY: one byte for each page, and there is room for them.
        if unsafe { sys::any_call(libc::SYS_mincore, call) }.is_err() {
            return false;
        }
        touched += exists.iter().filter(|byte| **byte & 1 == 1).count();
    }
    touched * page * 2 >= len
}
