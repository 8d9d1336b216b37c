//! Units that are mapped for pages of a pool and have none: mapped ahead, or their pages
//! went back. They take no memory, but count as data of the process (`RLIMIT_DATA`).
#![expect(unsafe_code, reason = "maps memory by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, Holds, address_space, index};
use crate::kernel::facts;

/// Whether the kernel has refused memory while there were some.
static MISSED: AtomicBool = AtomicBool::new(false);

/// Whether there are to be none: what the program maps next would be refused.
pub(super) fn is_missed() -> bool {
    MISSED.load(Ordering::Relaxed) || facts::has_data_limit()
}

/// Makes them address space without access again, for when the kernel refuses memory;
/// whether there were any. The caller must be inside of the gate.
pub(super) fn unmap() -> bool {
    let any = index::look(|| {
        let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
        extents.map(unmap_in).sum::<usize>() > 0
    });
    MISSED.fetch_or(any, Ordering::Relaxed);
    any
}

/// How many of an extent's.
fn unmap_in(extent: &Extent) -> usize {
    let units = extent.units().iter().enumerate();
    let mine = units.filter(|(_, unit)| unit.claim(State::EmptyHuge).is_some());
    mine.map(|(at, unit)| {
        // SAFETY: claimed, and nothing in it is used.
        let cleared = unsafe { address_space::clear(extent.address(at), extent.layout.unit) };
        let state = match cleared {
            Ok(()) => State::Empty,
            Err(_) => State::EmptyHuge,
        };
        unit.publish(state, 0);
        usize::from(cleared.is_ok())
    })
    .sum()
}
