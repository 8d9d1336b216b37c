//! A heap that has grown: the base pages of its small beginning move up to pages
//! of the pool, or become transparent huge pages.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::env::{Fallback, Pages};

use crate::move_up::Mover;
use crate::unit::State;
use crate::usage::{GROWN_HEAP, in_use};
use crate::window::Window;
use crate::{config, register, side_stack, thp};

/// Whether it was done.
static DONE: AtomicBool = AtomicBool::new(false);

/// Does it once, when the heap has grown.
pub fn watch() {
    let has_grown = in_use() >= GROWN_HEAP && !DONE.swap(true, Ordering::Relaxed);
    if has_grown && config::get().heap.is_some() {
        side_stack::on_side_stack(|| register::look(raise));
    }
}

/// The pool does not depend on what becomes of transparent huge pages.
fn raise() {
    let is_of_pool = config::get().heap.is_some_and(|pages| pages != Pages::Thp);
    if let Some(mover) = is_of_pool.then(Mover::new).flatten() {
        register::windows().for_each(|window| mover.move_up(window));
    }
    if is_asked_for() && thp::serves_private().is_ok() {
        register::windows().for_each(collapse);
    }
}

/// Whether a heap may be on transparent huge pages, as far as it was asked.
pub(crate) fn is_asked_for() -> bool {
    let config = config::get();
    config.heap.is_some() && config.fallback != Fallback::Base
}

fn collapse(window: &Window) {
    for (index, unit) in window.units().iter().enumerate() {
        let Some(used) = unit.claim(State::Base) else {
            continue;
        };
        let (addr, len) = (window.address(index), window.layout.unit);
        // SAFETY: mapped by us; the advice changes no contents.
        let state = unsafe { thp::advise(addr, len) };
        // SAFETY: likewise. Where it fails the pages stay as they are.
        let _ = unsafe { thp::collapse(addr, len) };
        unit.publish(state, used);
    }
}
