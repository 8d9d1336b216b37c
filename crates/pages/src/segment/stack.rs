//! Stacks on transparent huge pages (`HUGETLB_STACK`), the main thread's and those that
//! libc makes for others: whole huge pages of them are advised, and touched as far as was
//! asked (`HUGETLB_STACK_DEPTH`). The first 64 kB stay on base pages, so that a thread that
//! needs no more takes none.
//!
//! The main thread's stack stays one mapping: libc tells its size by what the kernel says of
//! that. It is advised as a whole, and made longer at once, since a mapping that grows page
//! by page has no place for a huge page. Of a thread's stack the mapping is divided; the
//! pages at its end that nobody may touch lie in none of the parts that are advised.
#![expect(unsafe_code, reason = "advises stacks by address")]

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::smaps;

use crate::config;
use crate::kernel::{facts, populate, procfile};
use crate::policy::required::STACK;
use crate::policy::{first_look, thp};
use crate::rt::message::{Level, say_news};
use crate::sys::{self, Filter};

/// So much of a stack is on base pages.
const FIRST: usize = 64 << 10;

/// The length that the main thread's stack gets if its limit allows. It costs one page and its
/// page table, but counts in `ulimit -v`, in vm.overcommit_memory=2 and for `mlockall`. The
/// kernel keeps 128 MB below a stack free.
const LONG: usize = 64 << 20;

/// The usual limit of a stack.
const ORDINARY: usize = 8 << 20;

/// Whether stacks are concerned.
pub fn is_asked() -> bool {
    let config = config::get();
    config.stack.is_some() && config.fallback != Fallback::Base && sys::filter() != Filter::Own
}

/// Whether a stack of this length may have a huge page; says once where not.
pub fn is_long_enough(len: usize) -> bool {
    let is_long = len >= facts::thp_size() + FIRST;
    if !is_long {
        say_too_small(len);
    }
    is_long
}

fn say_too_small(len: usize) {
    // Of a stack that must have one it is said that the program does not start for that.
    if STACK.share().is_some() {
        return;
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    let kb = len >> 10;
    say_news(
        &SAID,
        || match config::get().speaker {
            // It may be in the environment of everything that a user runs, and such a program
            // is as it is.
            None => Level::Info,
            Some(_) => config::level_of_news(Kind::SmallStacks),
        },
        format_args!("stacks: one of {kb} kB has no place for a whole huge page"),
    );
}

/// For the main thread, on its stack: before the program begins.
pub fn prepare_main() {
    if !is_asked() || sys::is_under_valgrind() {
        return;
    }
    first_look::take();
    let here = here();
    let (depth, size) = (depth_of_main(), facts::thp_size());
    let asked = ahead(&whole(0, here, size), here, depth, size);
    ASKED.store(asked.len(), Ordering::Relaxed);
    let Some(mapping) = main_mapping(here) else {
        return;
    };
    let limit = sys::stack_limit().unwrap_or(ORDINARY);
    // What is asked for is counted from here on, and ends where a huge page does.
    let reach = (mapping.end - here)
        .saturating_add(depth)
        .saturating_add(size);
    let longest = reach.max(LONG).min(limit);
    // One page more is touched below.
    let low = mapping.end.saturating_sub(longest) + sys::page_size();
    let Some([whole, ahead]) = parts(low, here, limit, depth) else {
        return;
    };
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(mapping.start, mapping.len(), libc::MADV_HUGEPAGE) };
    if advised.is_ok() {
        lengthen(&whole, &ahead);
    }
}

/// What is to be on huge pages of a stack of this length, and what of that is to be there
/// at once; see [`whole`] and [`ahead`]. None where that is nothing, which is said once, or
/// there are no huge pages for it.
fn parts(low: usize, here: usize, len: usize, depth: usize) -> Option<[Range<usize>; 2]> {
    let size = facts::thp_size();
    let whole = whole(low, here, size);
    if whole.is_empty() {
        say_too_small(len);
        return None;
    }
    let ahead = ahead(&whole, here, depth, size);
    serves(ahead.len().max(size)).then_some([whole, ahead])
}

/// Whether so many bytes may be on huge pages. Where they must be it is said later why
/// not.
fn serves(len: usize) -> bool {
    match STACK.share() {
        Some(_) => thp::serves(len).is_ok(),
        None => thp::serves_stack(len),
    }
}

/// Bytes of whole huge pages of the main thread's stack that were to be there at once,
/// whatever its limit.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The mapping of the main thread's stack, and what of it was to be on huge pages at once;
/// on that stack.
pub fn main_stack() -> Option<(Range<usize>, usize)> {
    Some((main_mapping(here())?, ASKED.load(Ordering::Relaxed)))
}

/// Whether a thread with such a stack may begin, where stacks must be on huge pages; says
/// why not.
pub fn may_begin(len: usize, guard: usize) -> bool {
    let size = facts::thp_size();
    let promised = depth().min(len.saturating_sub(guard)).max(size);
    !is_asked() || STACK.admits(promised)
}

/// Huge pages at once, from the upper one on, and then the room for all of them.
fn lengthen(whole: &Range<usize>, ahead: &Range<usize>) {
    for at in ahead.clone().step_by(facts::thp_size()).rev() {
        // SAFETY: this thread's stack, below all that it uses.
        if unsafe { sys::written_by_kernel(at) }.is_err() {
            return;
        }
    }
    if ahead.start > whole.start {
        // `ulimit -v` may forbid the first of these lengths.
        let lowest = whole
            .end
            .saturating_sub(ORDINARY / facts::thp_size() * facts::thp_size());
        let _ = [whole.start, lowest.max(whole.start)].iter().any(|start| {
            // SAFETY: likewise.
            unsafe { sys::written_by_kernel(start - sys::page_size()) }.is_ok()
        });
    }
}

/// Whether a thread that is made now has its stack prepared. Under valgrind nothing is won,
/// and helgrind takes what our threads tell each other for races of the program's.
pub fn is_for_threads() -> bool {
    is_asked() && (STACK.share().is_some() || !sys::is_under_valgrind())
}

/// For another thread, on its stack: before it begins. `end` is an address above all that it
/// uses; below that are `len` bytes, of which the lowest `guard` may be such that nobody may
/// touch.
pub fn prepare_thread(end: usize, len: usize, guard: usize) {
    if !is_asked() {
        return;
    }
    first_look::take();
    let low = end.saturating_sub(len).saturating_add(guard.max(FIRST));
    let Some([whole, ahead]) = parts(low, here(), len, depth()) else {
        return;
    };
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(whole.start, whole.len(), libc::MADV_HUGEPAGE) };
    if advised.is_ok() && !ahead.is_empty() {
        // What cannot be had comes when it is used.
        let had = populate::shared(ahead.start, ahead.len(), sys::page_size());
        if let Some(share) = STACK.share() {
            // SAFETY: of this thread's stack, below all that it uses.
            let is_huge = unsafe { thp::collapse(ahead.start, ahead.len()) };
            if had.is_err() || is_huge.is_err() {
                STACK.tell_late(share, ahead.len());
            }
        }
    }
}

/// The whole huge pages of a stack that is used down to `here` and ends at `low`.
fn whole(low: usize, here: usize, size: usize) -> Range<usize> {
    let end = here.saturating_sub(FIRST) / size * size;
    let start = low.checked_next_multiple_of(size).unwrap_or(end);
    start.min(end)..end
}

/// Those that so many bytes below `here` reach into.
fn ahead(whole: &Range<usize>, here: usize, depth: usize, size: usize) -> Range<usize> {
    let start = here.saturating_sub(depth) / size * size;
    start.clamp(whole.start, whole.end)..whole.end
}

fn depth() -> usize {
    let depth = config::get().stack_depth.unwrap_or(0);
    usize::try_from(depth).unwrap_or(usize::MAX)
}

/// What must be on huge pages is measured, so that there is one at least.
fn depth_of_main() -> usize {
    match STACK.share() {
        Some(_) => depth().max(FIRST + facts::thp_size()),
        None => depth(),
    }
}

/// Where this thread's stack is used.
#[inline(always)]
fn here() -> usize {
    let here = 0u8;
    (&raw const here) as usize
}

/// The mapping of the main thread's stack, if that is where `here` is.
fn main_mapping(here: usize) -> Option<Range<usize>> {
    let of_line = |line: &[u8]| {
        let record = smaps::records(line).next()?;
        let start = usize::try_from(record.start).ok()?;
        let end = usize::try_from(record.end).ok()?;
        let is_it = record.name == b"[stack]" && start <= here && here < end;
        is_it.then_some(start..end)
    };
    procfile::look(|| procfile::each_line(c"/proc/self/maps", of_line))
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
        // Those below the first 64 kB only, and not the one that begins below the end.
        assert_eq!(of(92 * MIB + 1, 98 * MIB + 63 * KIB), 94 * MIB..96 * MIB);
        assert_eq!(of(92 * MIB + 1, 98 * MIB + 64 * KIB), 94 * MIB..98 * MIB);
        assert!(of(99 * MIB, 99 * MIB + 128 * KIB).is_empty());
        assert!(of(96 * MIB + KIB, 98 * MIB + 128 * KIB).is_empty());
    }

    #[test]
    fn what_is_touched_ahead() {
        let whole = 92 * MIB..98 * MIB;
        let of = |depth| ahead(&whole, 99 * MIB, depth, 2 * MIB);
        assert!(of(0).is_empty() && of(MIB).is_empty());
        assert_eq!(of(MIB + 1), 96 * MIB..98 * MIB);
        assert_eq!(of(4 * MIB), 94 * MIB..98 * MIB);
        assert_eq!(of(usize::MAX), whole);
    }
}
