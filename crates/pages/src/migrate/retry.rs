//! System calls that write to memory of ours while it is replaced, or that
//! need a page which the pool has not: they fail with `EFAULT`, or end early.
//! Made again, they do what they should.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::extent::unit::State;
use crate::extent::{Extent, Holds, index};
use crate::fault::late;
use crate::migrate::shield::Shield;
use crate::migrate::sigbus;
use crate::policy::pool_backoff;
use crate::sys::PastLimit;

/// So often at most is a call made again.
const MOST: u32 = 16;

/// Whether calls may fail: the process has threads, and none can be kept waiting in a
/// system call.
static MAY_FAIL: AtomicBool = AtomicBool::new(false);

/// What is done where they may; 0 for nothing.
static TASK: AtomicUsize = AtomicUsize::new(0);

/// Has a function called when calls may fail from then on.
pub fn set_task(task: fn()) {
    TASK.store(task as usize, Ordering::Release);
}

/// The program, whose heap is to lie on a pool or not, is about to make a thread: finds out
/// once whether calls may fail then.
#[inline]
pub fn begin_threads(has_pool_heap: impl FnOnce() -> bool) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let has_begun = || BEGUN.load(Ordering::Relaxed) || BEGUN.swap(true, Ordering::AcqRel);
    if !has_begun() && may_fail_with_threads(has_pool_heap) {
        MAY_FAIL.store(true, Ordering::Relaxed);
        take_care();
    }
}

/// Whether calls may fail once there are threads, in a program whose heap is to lie on a
/// pool or not.
pub fn may_fail_with_threads(has_pool_heap: impl FnOnce() -> bool) -> bool {
    let has_data = || index::look(|| index::extents().any(|extent| extent.holds == Holds::Data));
    (has_pool_heap() || has_data()) && Shield::whole().is_none()
}

#[cold]
#[expect(unsafe_code, reason = "calls a function by its number")]
fn take_care() {
    match TASK.load(Ordering::Acquire) {
        0 => {}
        task => {
            // SAFETY: what `set_task` was given.
            let task = unsafe { core::mem::transmute::<usize, fn()>(task) };
            task();
        }
    }
}

/// Whether calls may fail in this process.
#[inline]
pub fn may_fail() -> bool {
    MAY_FAIL.load(Ordering::Relaxed)
}

/// A system call that fills a buffer of the program's.
#[derive(Debug)]
pub struct Call {
    /// How often memory had been replaced when it was made last.
    generation: u64,
    /// How often it was made.
    times: u32,
}

impl Call {
    /// One that is about to be made.
    #[inline]
    pub fn begin() -> Call {
        Call {
            generation: late::generation(),
            times: 0,
        }
    }

    /// Whether a call that was not done ends there because the memory behind could
    /// not be written. Where nothing was replaced meanwhile, and no fork has made a page
    /// one that a child shares, that may be so at the beginning of a huge page only, or of
    /// a buffer: where the kernel goes on to that one, `begins`.
    pub fn may_have_stopped_at(&self, addr: usize, begins: bool) -> bool {
        if pool_backoff::is_forking() || late::generation() != self.generation {
            return true;
        }
        index::look(|| {
            index::extent_at(addr).is_some_and(|extent| {
                let unit = extent.unit_at(addr);
                let (state, _) = extent.units()[unit].load();
                let is_border = begins || extent.address(unit) == addr;
                state == State::Busy || state.is_hugetlb() && is_border
            })
        })
    }

    /// Whether it is to be made again, after it has failed with `EFAULT` for
    /// buffers in these ranges, or has stopped at the beginning of one.
    #[cold]
    pub fn is_to_be_made_again(&mut self, buffers: impl Iterator<Item = Range<usize>>) -> bool {
        // The program may have no descriptor to spare.
        let _past_limit = PastLimit::begin();
        let mut is_ours = false;
        let mut moved = false;
        for range in buffers {
            index::look(|| {
                for extent in index::extents().filter(|extent| meets(extent, &range)) {
                    is_ours = true;
                    moved |= make_ready(extent, &range);
                }
            });
        }
        let generation = late::generation();
        let changed = generation != self.generation;
        self.generation = generation;
        self.times += 1;
        is_ours && (moved || changed) && self.times < MOST
    }
}

/// Makes sure that a range can be written by a call that has failed for want of
/// memory; whether anything was done for it.
#[cold]
pub fn make_writable(range: &Range<usize>) -> bool {
    let mut call = Call::begin();
    !range.is_empty() && call.is_to_be_made_again(core::iter::once(range.clone()))
}

fn meets(extent: &Extent, range: &Range<usize>) -> bool {
    extent.base < range.end && range.start < extent.base + extent.len
}

/// Makes sure that a part of an extent can be written; whether something was done
/// for it, or by another thread meanwhile.
fn make_ready(extent: &Extent, range: &Range<usize>) -> bool {
    let first = extent.unit_at(range.start.max(extent.base));
    let last = extent.unit_at((range.end - 1).min(extent.base + extent.len - 1));
    let mut done = false;
    for unit in first..=last {
        let word = &extent.units()[unit];
        let before = word.load().0;
        let (state, _) = word.settled();
        done |= state != before;
        if state.is_hugetlb() {
            done |= sigbus::mend_page(extent, unit, state);
        }
    }
    done
}
