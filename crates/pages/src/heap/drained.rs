//! A block that is about to be freed gives back what stands behind a part of it, while all
//! of it still counts as one: so a large one can be copied without all of it being there
//! twice. It can be written as before, and is zero.
#![expect(unsafe_code, reason = "gives memory back by address")]

use core::ops::Range;

use crate::extent::index;
use crate::extent::unit::State;
use crate::rt::fork_gate;
use crate::sys;

/// Gives back whole units of a range of which nobody needs the contents any more. What is
/// on pages of a pool stays: for whoever writes there next none might be left.
pub fn drain(range: &Range<usize>) {
    let _pass = fork_gate::GATE.pass();
    let Some(extent) = index::extent_at(range.start) else {
        return;
    };
    let (first, len) = (extent.unit_at(range.start), extent.layout.unit);
    for (unit, word) in extent.units().iter().enumerate().skip(first) {
        let addr = extent.address(unit);
        if addr + len > range.end {
            break;
        }
        if addr < range.start {
            continue;
        }
        for state in [State::Thp, State::Base] {
            if let Some(used) = word.claim(state) {
                // SAFETY: claimed, ordinary memory is mapped there, and nobody reads it as
                // the caller says. Where it fails, as of locked memory, it stays.
                let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
                word.publish(state, used);
            }
        }
    }
}
