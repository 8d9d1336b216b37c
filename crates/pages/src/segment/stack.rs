//! Puts stacks on transparent huge pages (`HUGETLB_STACK`) and populates them down to
//! `HUGETLB_STACK_DEPTH`. The first 64 kB stay on base pages: most threads need no more.
//!
//! The main stack stays one VMA, since libc reads its size from `/proc/self/maps`. It is
//! lengthened at once: a VMA that grows page by page has no room for a huge page. Other stacks
//! are advised without their guard pages.
#![expect(unsafe_code, reason = "advises stacks by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::smaps;

use crate::config;
use crate::kernel::{facts, populate, procfile};
use crate::policy::required::STACK;
use crate::policy::{start_facts, thp};
use crate::rt::message::{Level, say_once_at};
use crate::sys::{self, Filter};

/// How many bytes of each stack, below its start, stay on base pages.
const BASE_PAGE_BYTES: usize = 64 << 10;

/// Minimum length (bytes) of the main stack, if its limit allows: half of the 128 MB that the
/// kernel keeps free for it. Costs one page and its page table, but counts for `ulimit -v`,
/// vm.overcommit_memory=2 and `mlockall`.
const MIN_MAIN_LEN: usize = 64 << 20;

/// Whether stacks get huge pages.
pub fn is_enabled() -> bool {
    let config = config::get();
    config.stack.is_some() && config.fallback != Fallback::Base && sys::filter() != Filter::Own
}

/// Whether a stack of this length has room for a huge page; reports once if not.
pub fn is_long_enough(len: usize) -> bool {
    let is_long = len >= facts::thp_size() + BASE_PAGE_BYTES;
    if !is_long {
        say_too_small(len);
    }
    is_long
}

fn say_too_small(len: usize) {
    // A required stack reports an error of its own.
    if STACK.share().is_some() {
        return;
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    let kb = len >> 10;
    say_once_at(
        &SAID,
        || match config::get().warning_pid {
            // The setting may be in the user's environment and apply to all programs.
            None => Level::Info,
            Some(_) => config::level_unpredicted(Kind::SmallStacks),
        },
        format_args!("stacks: a stack of {kb} kB is too small for a huge page"),
    );
}

/// Prepares the main stack before the program begins. Must run on that stack.
pub fn prepare_main() {
    if !is_enabled() || sys::is_under_valgrind() {
        return;
    }
    start_facts::take();
    let here = here();
    let (depth, size) = (depth_of_main(), facts::thp_size());
    let wanted = to_populate(&whole(0, here, size), here, depth, size);
    TO_POPULATE.store(wanted.len(), Ordering::Relaxed);
    let (Some(mapping), Ok(limit)) = (main_mapping(here), sys::stack_limit()) else {
        return;
    };
    // The depth counts from here, and its low end rounds down to a huge page.
    let reach = (mapping.end - here)
        .saturating_add(depth)
        .saturating_add(size);
    let longest = reach.max(MIN_MAIN_LEN).min(limit);
    // `lengthen` also touches the page below.
    let low = mapping.end.saturating_sub(longest) + sys::page_size();
    let Some([whole, to_populate]) = parts(low, here, limit, depth) else {
        return;
    };
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(mapping.start, mapping.len(), libc::MADV_HUGEPAGE) };
    if advised.is_ok() {
        lengthen(&whole, &to_populate);
    }
}

/// The parts of a stack to advise ([`whole`]) and to populate ([`to_populate`]). `None` if no huge
/// page fits or none is available; reports that unless stacks are required.
fn parts(low: usize, here: usize, len: usize, depth: usize) -> Option<[Range<usize>; 2]> {
    let size = facts::thp_size();
    let whole = whole(low, here, size);
    if whole.is_empty() {
        say_too_small(len);
        return None;
    }
    let to_populate = to_populate(&whole, here, depth, size);
    has_thp(to_populate.len().max(size)).then_some([whole, to_populate])
}

/// Whether transparent huge pages are available; reports why not, unless stacks are required.
fn has_thp(len: usize) -> bool {
    match STACK.share() {
        Some(_) => thp::serves(len).is_ok(),
        None => thp::serves_stack(len),
    }
}

/// Bytes of the main stack to populate; its limit may allow fewer.
static TO_POPULATE: AtomicUsize = AtomicUsize::new(0);

/// Returns the main stack's VMA and the bytes to populate in it. Must run on that stack.
pub fn main_stack() -> Option<(Range<usize>, usize)> {
    Some((main_mapping(here())?, TO_POPULATE.load(Ordering::Relaxed)))
}

/// Whether a thread with this stack may start. Reports and returns false if a required huge page is
/// missing.
pub fn may_start(len: usize, guard: usize) -> bool {
    let size = facts::thp_size();
    let needed = depth().min(len.saturating_sub(guard)).max(size);
    let is_refused = |share| STACK.admit(share, needed).is_err();
    !is_enabled() || !STACK.share().is_some_and(is_refused)
}

/// Populates huge pages from the top down, then extends the stack.
fn lengthen(whole: &Range<usize>, to_populate: &Range<usize>) {
    for at in to_populate.clone().step_by(facts::thp_size()).rev() {
        // SAFETY: this thread's stack, below the part in use.
        if unsafe { sys::probe_write(at) }.is_err() {
            return;
        }
    }
    if to_populate.start > whole.start {
        // SAFETY: likewise.
        let _ = unsafe { sys::probe_write(whole.start - sys::page_size()) };
    }
}

/// Whether new threads' stacks are prepared. Under valgrind only if stacks are required: helgrind
/// reports races between our start of threads and the program.
pub fn prepares_threads() -> bool {
    is_enabled() && (STACK.share().is_some() || !sys::is_under_valgrind())
}

/// Prepares a thread's stack before its function runs. Must run on that stack, whose part in use is
/// below `end`. The lowest `guard` of the `len` bytes below `end` may be guard pages.
pub fn prepare_thread(end: usize, len: usize, guard: usize) {
    if !is_enabled() {
        return;
    }
    start_facts::take();
    let low = end
        .saturating_sub(len)
        .saturating_add(guard.max(BASE_PAGE_BYTES));
    let Some([whole, to_populate]) = parts(low, here(), len, depth()) else {
        return;
    };
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(whole.start, whole.len(), libc::MADV_HUGEPAGE) };
    if advised.is_ok() && !to_populate.is_empty() {
        // Pages that can't be populated now will be at their first touch.
        // SAFETY: this thread's stack, below the part in use.
        let populated =
            unsafe { populate::populate(to_populate.start, to_populate.len(), sys::page_size()) };
        if let Some(share) = STACK.share() {
            // SAFETY: this thread's stack, below the part in use.
            let is_huge = unsafe { thp::collapse(to_populate.start, to_populate.len()) };
            if populated.is_err() || is_huge.is_err() {
                STACK.report_late(share, to_populate.len());
            }
        }
    }
}

/// Returns the whole huge pages from `low` to [`BASE_PAGE_BYTES`] bytes below `here`.
fn whole(low: usize, here: usize, size: usize) -> Range<usize> {
    let end = here.saturating_sub(BASE_PAGE_BYTES) / size * size;
    let start = low.checked_next_multiple_of(size).unwrap_or(end);
    start.min(end)..end
}

/// Returns the huge pages of `whole` within `depth` below `here`.
fn to_populate(whole: &Range<usize>, here: usize, depth: usize, size: usize) -> Range<usize> {
    let start = here.saturating_sub(depth) / size * size;
    start.clamp(whole.start, whole.end)..whole.end
}

fn depth() -> usize {
    let depth = config::get().stack_depth.unwrap_or(0);
    usize::try_from(depth).unwrap_or(usize::MAX)
}

/// Depth to populate. A required stack is measured, so it needs at least one huge page.
fn depth_of_main() -> usize {
    match STACK.share() {
        Some(_) => depth().max(BASE_PAGE_BYTES + facts::thp_size()),
        None => depth(),
    }
}

#[inline(always)]
fn here() -> usize {
    let here = 0u8;
    (&raw const here) as usize
}

/// The VMA of the main stack if it contains `here`.
fn main_mapping(here: usize) -> Option<Range<usize>> {
    let of_line = |line: &[u8]| {
        let record = smaps::records(line).next()?;
        let start = usize::try_from(record.start).ok()?;
        let end = usize::try_from(record.end).ok()?;
        let is_main = record.name == b"[stack]" && start <= here && here < end;
        is_main.then_some(start..end)
    };
    procfile::if_allowed(|| procfile::each_line(c"/proc/self/maps", of_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const KIB: usize = 1 << 10;

    #[test]
    fn whole_huge_pages_of_a_stack() {
        let of = |low, here| whole(low, here, 2 * MIB);
        assert_eq!(of(92 * MIB, 99 * MIB), 92 * MIB..98 * MIB);
        // Not the first 64 kB, and no page that begins below `low`.
        assert_eq!(of(92 * MIB + 1, 98 * MIB + 63 * KIB), 94 * MIB..96 * MIB);
        assert_eq!(of(92 * MIB + 1, 98 * MIB + 64 * KIB), 94 * MIB..98 * MIB);
        assert!(of(99 * MIB, 99 * MIB + 128 * KIB).is_empty());
        assert!(of(96 * MIB + KIB, 98 * MIB + 128 * KIB).is_empty());
    }
}
