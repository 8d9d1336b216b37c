//! Segments that must be on huge pages (`HUGETLB_REQUIRE`): whether a request may use a lower rung,
//! and the error if not.

use core::sync::atomic::AtomicBool;

use hugetools_contract::env::{Fallback, Pages, Required, Share};
use hugetools_contract::ledger::Kind;
use hugetools_contract::segment::Segment;

use crate::config::{self, starter_message};
use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::State;
use crate::extent::usage::SMALL_HEAP;
use crate::extent::{Extent, Holds, index};
use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::{thp, unmet};
use crate::rt::message::{Amount, Level, say_once};

mod account;

pub use account::{ANON, Account, SHM, STACK};

/// Whether `more` bytes of the heap may use a lower rung.
pub(crate) fn heap_may_fall_back(more: usize) -> bool {
    match config::share_of_heap() {
        None => config::get().fallback != Fallback::None,
        Some(Share::Whole) => false,
        Some(share) => {
            let bytes_of_heap = HeapBytes::count();
            let (more, all) = (more as u64, bytes_of_heap.huge + bytes_of_heap.other);
            share.may_miss(more, bytes_of_heap.other, all)
        }
    }
}

/// Bytes of the heap on the requested pages, and on others.
#[derive(Debug, Clone, Copy, Default)]
struct HeapBytes {
    huge: u64,
    other: u64,
}

impl HeapBytes {
    /// Counts the heap. Ignores [`SMALL_HEAP`] bytes on other pages: a small heap may stay on base
    /// pages.
    fn count() -> HeapBytes {
        let extents = index::extents().filter(|extent| extent.holds == Holds::Heap);
        let all = extents.fold(HeapBytes::default(), HeapBytes::with);
        HeapBytes {
            other: all.other.saturating_sub(SMALL_HEAP as u64),
            ..all
        }
    }

    fn with(mut self, extent: &Extent) -> HeapBytes {
        for unit in extent.units() {
            let (state, used) = unit.load();
            let bytes = used as u64 * SLICE as u64;
            let is_requested = match extent.layout.huge || extent.layout.big > 0 {
                true => state.is_hugetlb(),
                false => state.is_hugetlb() || state == State::Thp,
            };
            match is_requested {
                true => self.huge += bytes,
                false => self.other += bytes,
            }
        }
        self
    }
}

/// Reports once that the heap can't grow as required.
pub(crate) fn report_heap_refused(more: usize) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let Some(share) = config::share_of_heap() else {
        return;
    };
    unmet::note(Segment::Heap);
    let huge = usize::try_from(HeapBytes::count().huge).unwrap_or(usize::MAX);
    let (what, huge, more) = (Required(Segment::Heap, share), Amount(huge), Amount(more));
    let (why, remedy) = match config::heap_is_of_pool() {
        true => {
            let shortfall = pool_backoff::shortfall();
            (shortfall.reason(), remedy_for(shortfall))
        }
        false => (thp::serves_private().err().map(thp::NoThp::reason), ""),
    };
    say_once(
        &REPORTED,
        Level::Error,
        format_args!(
            "--require={what} is not met: the heap has {huge} on huge pages and gets none for \
             {more} more: {}; the request fails{remedy}",
            why.unwrap_or(NO_HUGE_PAGE_LEFT),
        ),
    );
}

/// Hint: how to get more pool pages for a required heap. Empty if the reason has it.
fn remedy_for(shortfall: Shortfall) -> &'static str {
    match shortfall {
        Shortfall::None | Shortfall::PoolEmpty => " (to grow the pool: hugeadm --pool-pages-min)",
        Shortfall::Threads => pool_backoff::KEEP_WITH_THREADS_HINT,
        _ => "",
    }
}

const NO_HUGE_PAGE_LEFT: &str = "the kernel has no huge page left";

/// Records that a required heap is about to move off its pool.
pub(crate) fn note_heap_move() {
    if config::share_of_heap().is_some() {
        unmet::note(Segment::Heap);
    }
}

/// Reports once that a required heap has moved off its pool.
pub(crate) fn report_heap_moved(moved: usize, when: &str) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let Some(share) = config::share_of_heap().filter(|_| unmet::is_noted(Segment::Heap)) else {
        return;
    };
    say_once(
        &REPORTED,
        Level::Error,
        format_args!(
            "--require={} is not met any more: {} moved off pool pages {when} \
             (with --heap=thp the heap doesn't move)",
            Required(Segment::Heap, share),
            Amount(moved)
        ),
    );
}

/// Whether shared memory may use a lower rung.
pub fn shm_may_fall_back(len: usize) -> bool {
    match SHM.share() {
        None => config::get().fallback != Fallback::None,
        Some(share) => SHM.has_room(share, len),
    }
}

/// Whether shared memory must be on transparent huge pages and the machine's settings rule them
/// out. `false` if it is smaller than one.
pub fn shm_lacks_thp(pages: Pages, len: usize) -> bool {
    let is_large = || len >= crate::kernel::facts::thp_size();
    pages == Pages::Thp && SHM.share().is_some() && is_large() && thp::serves_shared().is_err()
}

/// Reports shared memory that isn't on the requested pages: as an error if they are required and it
/// may not fall back, otherwise as a warning.
pub fn report_shm(kind: Kind, may_fall_back: bool, text: core::fmt::Arguments<'_>) {
    match SHM.share().filter(|_| !may_fall_back) {
        None => starter_message::warn(kind, text),
        Some(share) => {
            unmet::note(Segment::Shm);
            let what = Required(Segment::Shm, share);
            starter_message::say(
                Level::Error,
                format_args!("--require={what} is not met: {text}"),
            );
        }
    }
}
