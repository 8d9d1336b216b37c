//! Putting pages behind units and taking them back: the ladder, from the pages
//! that were asked for down to base pages.
#![expect(unsafe_code, reason = "maps memory by address")]

use core::ops::Range;

use hugetools_contract::env::Fallback;

use crate::config;
use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::{Extent, address_space, usage};
use crate::heap::{half_empty, mapped_ahead};
use crate::kernel::{hugetlb_pool, populate};
use crate::policy::pool_backoff::{self, BACKOFF, BIG_BACKOFF, PoolBackoff};
use crate::policy::{quota, release, required, thp};
use crate::rt::fork_gate;
use crate::sys::{self, Errno, Result};

/// Which pages a range may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The best that the ladder has.
    Best,
    /// Pages of a pool, or none: a control group has no other memory to spare, but for a
    /// small heap.
    OfPool,
    /// Base pages, as for a small heap.
    Plain,
    /// Base pages for the allocator's own tables, most of which are never
    /// touched.
    Table,
}

/// How many units one hugetlb mapping covers where it can: mappings of
/// hugetlb pages do not merge, and a process may have 65530 mappings only.
const UNITS_PER_MAPPING: usize = 32;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Takes a range of an extent into use: afterwards it can be read and written.
/// What was in use already stays as it is. Whether all of it is fresh and zero.
/// Ranges that are taken or returned at the same time never overlap: the
/// allocator sees to that.
///
/// # Errors
/// When no pages can be had, or the fallback is `none` and no huge pages are
/// left.
pub fn commit(extent: &Extent, addr: usize, len: usize, wish: Wish) -> Result<bool> {
    let _pass = fork_gate::GATE.pass();
    let slices = extent.slice_range(addr, len);
    let mut result = put(extent, slices.clone(), wish);
    if result.is_err() && mapped_ahead::unmap() {
        // What was put before that is in use, and so is not said to be fresh.
        result = put(extent, slices, wish);
    }
    if wish == Wish::Table && result.is_ok() {
        // The allocator's tables make no heap large.
        usage::subtract(len.next_multiple_of(SLICE));
    }
    result
}

/// Keeps base pages that were taken just now from becoming one transparent huge
/// page: what lies behind them in it would come to the node of whoever touches
/// them, and not of whoever takes it.
pub fn keep_apart(extent: &Extent, addr: usize, len: usize) {
    let _pass = fork_gate::GATE.pass();
    let slices = extent.slice_range(addr, len);
    let (addr, len) = (extent.base + slices.start * SLICE, slices.len() * SLICE);
    // SAFETY: in use by the caller; the advice changes no contents. Where there
    // are no transparent huge pages it fails, and nothing is lost.
    let _ = unsafe { sys::madvise(addr, len, libc::MADV_NOHUGEPAGE) };
}

/// Returns a range: its contents are lost, and it must be taken into use again
/// before the next access.
pub fn decommit(extent: &Extent, addr: usize, len: usize) {
    let _pass = fork_gate::GATE.pass();
    take_back(extent, extent.slice_range(addr, len), usize::MAX);
}

/// A part of a huge page that is worth dividing it for.
pub const LARGE: usize = 512 << 10;

/// The same; and of transparent huge pages that stay in use, parts of so many bytes go
/// back, too: the rest is on base pages then.
pub fn decommit_parts(extent: &Extent, addr: usize, len: usize, part: usize) {
    let _pass = fork_gate::GATE.pass();
    take_back(extent, extent.slice_range(addr, len), part);
}

/// Takes slices into use: puts pages behind the units that have none, and
/// counts the slices in each. Whether all of it is fresh and zero. After an
/// error what was put so far stays.
fn put(extent: &Extent, slices: Range<usize>, wish: Wish) -> Result<bool> {
    let per_unit = extent.layout.unit / SLICE;
    let last = slices.end.div_ceil(per_unit);
    let part = |unit: usize| {
        let whole = extent.slices_of(unit..unit + 1);
        whole.start.max(slices.start)..whole.end.min(slices.end)
    };
    let mut wish = wish;
    let mut zero = true;
    let mut unit = slices.start / per_unit;
    while unit < last {
        let (state, _) = extent.units()[unit].settled();
        if !state.is_empty() {
            if add(extent, unit, part(unit)) {
                zero = false;
                unit += 1;
            }
            continue;
        }
        if matches!(wish, Wish::Best | Wish::OfPool) && usage::is_small(slices.len() * SLICE) {
            wish = Wish::Plain;
        }
        let run = claim(extent, unit..last, state);
        let (done, result) = fill(extent, run.clone(), state, wish, part);
        for left in done..run.end {
            // What lies there now is not known: it is cleared before use.
            extent.units()[left].publish(State::EmptyHuge, 0);
        }
        result?;
        unit = run.end;
    }
    Ok(zero)
}

/// Counts slices in a unit that has pages; `false` where it has lost them
/// meanwhile.
fn add(extent: &Extent, unit: usize, part: Range<usize>) -> bool {
    let word = &extent.units()[unit];
    loop {
        let (state, used) = word.settled();
        if state.is_empty() {
            return false;
        }
        if word.replace((state, used), (State::Busy, used)) {
            let fresh = extent.mark(part);
            word.publish(state, used + fresh);
            return true;
        }
    }
}

/// Claims the units from the start of `range` on that are in `state`.
fn claim(extent: &Extent, range: Range<usize>, state: State) -> Range<usize> {
    let claimed = |unit: &usize| extent.units()[*unit].claim(state).is_some();
    let end = range.clone().find(|unit| !claimed(unit));
    range.start..end.unwrap_or(range.end)
}

/// Fills claimed units, one rung after the other, and publishes each. The
/// first unit that was not filled, and why.
fn fill(
    extent: &Extent,
    run: Range<usize>,
    state: State,
    wish: Wish,
    part: impl Fn(usize) -> Range<usize>,
) -> (usize, Result<()>) {
    let publish = |units: Range<usize>, state: State| {
        for unit in units {
            let used = extent.mark(part(unit));
            extent.units()[unit].publish(state, used);
        }
    };
    let mut at = run.start;
    if matches!(wish, Wish::Best | Wish::OfPool) {
        at = fill_big(extent, at..run.end, state, &publish);
        at = fill_huge(extent, at..run.end, state, &publish);
        let left = (run.end - at) * extent.layout.unit;
        if at < run.end && wants_hugetlb(extent) && !required::heap_may_fall(left) {
            required::heap_refused(left);
            return (at, Err(Errno(libc::ENOMEM)));
        }
    }
    if at == run.end {
        return (at, Ok(()));
    }
    if wish == Wish::OfPool {
        return (at, Err(Errno(libc::ENOMEM)));
    }
    match fill_plain(extent, at..run.end, wish) {
        Ok(state) => {
            if wish == Wish::Best && !wants_hugetlb(extent) {
                if let Err(error) = have_transparent(extent, at..run.end, state) {
                    return (at, Err(error));
                }
            }
            publish(at..run.end, state);
            (run.end, Ok(()))
        }
        Err(error) => (at, Err(error)),
    }
}

/// Where transparent huge pages are required, they come now, not on the first
/// touch.
fn have_transparent(extent: &Extent, run: Range<usize>, state: State) -> Result<()> {
    let (addr, len) = (extent.address(run.start), run.len() * extent.layout.unit);
    // SAFETY: claimed and mapped just now, zero, and not handed out.
    let has = || state == State::Thp && unsafe { thp::have(addr, len) }.is_ok();
    if config::share_of_heap().is_none() || has() || required::heap_may_fall(len) {
        return Ok(());
    }
    required::heap_refused(len);
    // SAFETY: likewise.
    let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    Err(Errno(libc::ENOMEM))
}

fn wants_hugetlb(extent: &Extent) -> bool {
    extent.layout.huge || extent.layout.big > 0
}

fn may_try_hugetlb(backoff: &PoolBackoff, bytes: usize) -> bool {
    backoff.is_worth_a_try(bytes) && pool_backoff::may_have_hugetlb()
}

/// The larger pages: a whole group of units for each, where all of it is
/// unused. Ends at the first unit that gets none.
fn fill_big(
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
    while at < run.end && may_try_hugetlb(&BIG_BACKOFF, size) {
        let is_reserved = |group: &Range<usize>| group.end <= extent.reserved_units();
        let Some(group) = extent.group_of(at).filter(is_reserved) else {
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

/// One larger page. `ours` are units of the group that are claimed already;
/// the others must be unused, and belong to the page afterwards.
fn fill_group(extent: &Extent, group: Range<usize>, ours: Range<usize>) -> bool {
    let others = || (group.start..ours.start).chain(ours.end..group.end);
    let claimed = others().take_while(|unit| extent.units()[*unit].claim(State::Empty).is_some());
    let claimed = claimed.count();
    let all = claimed == others().count();
    let (addr, size) = (extent.address(group.start), extent.layout.big);
    // SAFETY: all units of the group are unused and claimed.
    let filled = all && unsafe { fill_one_big(addr, size) };
    let state = if filled { State::Big } else { State::Empty };
    for unit in others().take(claimed) {
        extent.units()[unit].publish(state, 0);
    }
    filled
}

/// # Safety
/// The range must be unused and claimed.
unsafe fn fill_one_big(addr: usize, size: usize) -> bool {
    // SAFETY: as the caller says.
    let mut result = unsafe { hugetlb_pool::map_private_over(addr, size, size) };
    if result.is_ok() {
        // SAFETY: mapped just now.
        result = unsafe { have(addr, size) };
    }
    if result.is_err() {
        // SAFETY: as the caller says; nothing was handed out.
        let _ = unsafe { address_space::clear(addr, size) };
        BIG_BACKOFF.heap_failed(size);
        return false;
    }
    true
}

/// Has one hugetlb page now, if this process may have it.
///
/// # Safety
/// It must be mapped, zero, and not handed out yet.
unsafe fn have(addr: usize, size: usize) -> Result<()> {
    if quota::take(size, size) == 0 {
        return Err(Errno(libc::ENOMEM));
    }
    // SAFETY: as the caller says.
    unsafe { populate::populate(addr, size, size) }.inspect_err(|_| quota::give(size, size))
}

/// Pages of the unit's size. Ends at the first unit that gets none.
fn fill_huge(
    extent: &Extent,
    run: Range<usize>,
    state: State,
    publish: &impl Fn(Range<usize>, State),
) -> usize {
    let size = extent.layout.unit;
    if run.is_empty() || !extent.layout.huge || !may_try_hugetlb(&BACKOFF, run.len() * size) {
        return run.start;
    }
    if state == State::Empty && !map_huge(extent, &run) {
        return run.start;
    }
    for unit in run.clone() {
        // SAFETY: claimed and mapped, not handed out yet.
        let result = unsafe { have(extent.address(unit), size) };
        if result.is_err() {
            BACKOFF.heap_failed(size);
            return unit;
        }
        publish(unit..unit + 1, State::Huge);
    }
    run.end
}

/// Maps hugetlb memory over a claimed run, and over the unused units behind
/// it, so that there are few mappings.
fn map_huge(extent: &Extent, run: &Range<usize>) -> bool {
    let size = extent.layout.unit;
    let limit = match mapped_ahead::is_missed() {
        true => run.end,
        false => (run.end.next_multiple_of(UNITS_PER_MAPPING)).min(extent.reserved_units()),
    };
    let ahead = claim(extent, run.end..limit, State::Empty);
    let len = (ahead.end - run.start) * size;
    // SAFETY: all units of the range are unused and claimed.
    let mapped =
        unsafe { hugetlb_pool::map_private_over(extent.address(run.start), len, size) }.is_ok();
    for unit in ahead {
        let state = if mapped {
            State::EmptyHuge
        } else {
            State::Empty
        };
        extent.units()[unit].publish(state, 0);
    }
    if !mapped {
        BACKOFF.heap_failed(size);
    }
    mapped
}

/// Ordinary memory, advised to be on transparent huge pages or not. It
/// replaces whatever lies there: perhaps a hugetlb mapping, which must never
/// be handed out without its pages.
fn fill_plain(extent: &Extent, run: Range<usize>, wish: Wish) -> Result<State> {
    let (addr, len) = (extent.address(run.start), run.len() * extent.layout.unit);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: claimed and not handed out.
    unsafe { sys::mmap(addr, len, READ_WRITE, flags, -1, 0)? };
    // Where base pages are to follow, the kernel's own setting gives no others.
    if wish != Wish::Best && config::get().fallback != Fallback::Base {
        return Ok(State::Base);
    }
    // SAFETY: mapped just now.
    Ok(unsafe { thp::advise(addr, len) })
}

/// Returns slices, and frees the pages of units that have none left; and what is
/// `large` of a transparent huge page.
fn take_back(extent: &Extent, slices: Range<usize>, large: usize) {
    let per_unit = extent.layout.unit / SLICE;
    let mut at = slices.start;
    while at < slices.end {
        let unit = at / per_unit;
        let end = slices.end.min((unit + 1) * per_unit);
        take_back_in(extent, unit, at..end, large);
        at = end;
    }
}

fn take_back_in(extent: &Extent, unit: usize, part: Range<usize>, large: usize) {
    let word = &extent.units()[unit];
    loop {
        let (state, used) = word.settled();
        if state.is_empty() {
            return;
        }
        if word.replace((state, used), (State::Busy, used)) {
            let left = used - extent.unmark(part.clone()).min(used);
            let state = match left {
                0 => free(extent, unit, state),
                _ => trim(extent, part, state, large),
            };
            word.publish(state, left);
            if left == 0 && state == State::Big {
                free_group(extent, unit);
            }
            return;
        }
    }
}

/// Frees a larger page, once nothing in any of its units is used. Its units
/// are claimed in order, so that two who try at once do not wait for each
/// other, and the later one sees what the earlier one has returned.
fn free_group(extent: &Extent, unit: usize) {
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

/// Frees what stands behind a claimed, unused unit; what it is then.
fn free(extent: &Extent, unit: usize, state: State) -> State {
    let (addr, len) = (extent.address(unit), extent.layout.unit);
    if state == State::Big {
        // The page belongs to other units too; see `free_group`.
        return state;
    }
    // The mapping stays for the next page; since Linux 5.18.
    let stays = state == State::Huge && !mapped_ahead::is_missed();
    // SAFETY: claimed, and nothing in it is used.
    let drop_page = || unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    let now = match stays && drop_page().is_ok() {
        true => State::EmptyHuge,
        // SAFETY: claimed, and nothing in it is used.
        false => match unsafe { address_space::clear(addr, len) } {
            Ok(()) => State::Empty,
            Err(_) => return state,
        },
    };
    release::give_units(extent, state, len);
    now
}

/// Frees the base pages of slices within a unit that stays in use. Huge pages
/// are kept whole, but for what is `large` of a transparent one.
fn trim(extent: &Extent, part: Range<usize>, state: State, large: usize) -> State {
    let (addr, len) = (extent.base + part.start * SLICE, part.len() * SLICE);
    if state == State::Base || (state == State::Thp && len >= large) {
        if state == State::Thp {
            // It comes apart at once: by itself the kernel keeps it as it is, parts that
            // nobody has included, until memory runs out. Since Linux 5.4.
            // SAFETY: ordinary memory of ours; the advice changes no contents.
            let _ = unsafe { sys::madvise(addr, len, libc::MADV_COLD) };
        }
        // SAFETY: the slices are not in use, and ordinary memory is mapped there.
        let _ = unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) };
    } else {
        half_empty::note(len);
    }
    state
}
