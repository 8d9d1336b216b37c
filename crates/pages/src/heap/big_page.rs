//! Larger hugetlb pages (`Layout::big`), each behind a group of units.
#![expect(unsafe_code, reason = "maps memory by address")]

use core::ops::Range;

use crate::extent::unit::State;
use crate::extent::{Extent, address_space};
use crate::kernel::hugetlb_pool;
use crate::policy::pool_backoff::BIG_BACKOFF;
use crate::policy::{quota, release};

/// Fills groups of units with a larger page each, up to the first group that gets none.
pub(super) fn fill(
    extent: &Extent,
    run: Range<usize>,
    state: State,
    publish: &impl Fn(Range<usize>, State),
) -> usize {
    let size = extent.layout.big;
    let mut at = run.start;
    if size == 0 || state != State::Empty {
        return at;
    }
    while at < run.end && BIG_BACKOFF.may_ask(size) {
        let Some(group) = extent.group_of(at) else {
            break;
        };
        let ours = at..run.end.min(group.end);
        if !fill_group(extent, group, ours.clone()) {
            break;
        }
        publish(ours.clone(), State::Big);
        at = ours.end;
    }
    at
}

/// Fills a group with one larger page. `ours` are claimed; the others must be empty.
fn fill_group(extent: &Extent, group: Range<usize>, ours: Range<usize>) -> bool {
    let others = || (group.start..ours.start).chain(ours.end..group.end);
    let claimed = others().take_while(|unit| extent.units()[*unit].claim(State::Empty).is_some());
    let claimed = claimed.count();
    let all = claimed == others().count();
    let (addr, size) = (extent.address(group.start), extent.layout.big);
    // SAFETY: all units of the group are unused and claimed.
    let filled = all && unsafe { fill_one(addr, size) };
    let state = if filled { State::Big } else { State::Empty };
    for unit in others().take(claimed) {
        extent.units()[unit].publish(state, 0);
    }
    filled
}

/// # Safety
/// The range must be unused and claimed.
unsafe fn fill_one(addr: usize, size: usize) -> bool {
    // SAFETY: upheld by the caller.
    let mut result = unsafe { hugetlb_pool::map_private_over(addr, size, size) };
    if result.is_ok() {
        // SAFETY: mapped just now.
        result = unsafe { quota::populate(addr, size) };
    }
    if result.is_err() {
        // SAFETY: upheld by the caller; nothing was handed out.
        let _ = unsafe { address_space::clear(addr, size) };
        BIG_BACKOFF.begin(size);
        return false;
    }
    true
}

/// Frees a larger page if all its units are unused. Claims units in order: two threads don't
/// deadlock, and the second one sees the units that the first has freed.
pub(super) fn free(extent: &Extent, unit: usize) {
    let Some(group) = extent.group_of(unit) else {
        return;
    };
    let units = || extent.units()[group.clone()].iter();
    let claimed = units().take_while(|unit| unit.claim_unused(State::Big));
    let claimed = claimed.count();
    let (addr, len) = (extent.address(group.start), extent.layout.big);
    // SAFETY: all of the page is claimed, and nothing in it is used.
    let freed = claimed == group.len() && unsafe { address_space::clear(addr, len) }.is_ok();
    let state = if freed { State::Empty } else { State::Big };
    if freed {
        release::give_units(extent, State::Big, len);
    }
    for unit in units().take(claimed) {
        unit.publish(state, 0);
    }
}
