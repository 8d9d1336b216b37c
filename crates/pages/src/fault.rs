//! The net below: a write that needs another hugetlb page, after a fork that
//! our fork handler did not see (raw `clone`) or could not prepare, raises
//! `SIGBUS`. The page can still be read: it is copied to ordinary memory, and
//! the write is tried again.
#![expect(unsafe_code, reason = "replaces memory in a signal handler")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::luck::Shortfall;
use crate::recent::Recent;
use crate::signal::Handler;
use crate::unit::State;
use crate::window::Window;
use crate::{luck, private_copy, register, returned, sys};

/// The handler of `SIGBUS`.
pub static HANDLER: Handler = Handler::new(libc::SIGBUS, mend, on_sigbus);

/// When a page was last replaced here.
static MENDED: Recent = Recent::never();

extern "C" fn on_sigbus(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own arguments.
    unsafe { HANDLER.enter(info, context) };
}

/// Puts up the net; to be called once there is something to fall.
pub fn guard() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Ordering::AcqRel) {
        HANDLER.install();
    }
}

/// Whether the fault at this address was mended.
fn mend(addr: usize) -> bool {
    register::look(|| match register::window_at(addr) {
        Some(window) => mend_unit(window, window.unit_at(addr)),
        None => false,
    })
}

fn mend_unit(window: &Window, unit: usize) -> bool {
    let (state, used) = window.units()[unit].load();
    if !state.is_ours_to_mend() {
        return false;
    }
    let group = window.page_of(unit, state);
    let first = match state.is_hugetlb() {
        true if group.start == unit => Some((state, used)),
        true => Some(window.units()[group.start].load()),
        // Another thread is mending it or has done so.
        false => None,
    };
    let claimed = first.filter(|(state, used)| {
        let busy = (State::Busy, *used);
        state.is_hugetlb() && window.units()[group.start].replace((*state, *used), busy)
    });
    let Some((_, used)) = claimed else {
        sys::yield_now();
        return state == State::Busy || MENDED.was_just_now();
    };
    // SAFETY: the page's first unit is claimed, which keeps others out.
    let result = unsafe { private_copy::replace(window, group.clone()) };
    let now = *result.as_ref().unwrap_or(&state);
    for other in group.clone().skip(1) {
        let (_, used) = window.units()[other].load();
        window.units()[other].publish(now, used);
    }
    window.units()[group.start].publish(now, used);
    if result.is_ok() {
        returned::give_units(window, state, group.len() * window.layout.unit);
    }
    MENDED.mark();
    luck::LUCK.note(Shortfall::Copy);
    result.is_ok()
}
