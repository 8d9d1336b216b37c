//! Base pages that hold nothing go, from private memory in which the program is about to
//! watch for missing ones (`userfaultfd(2)`): a huge page is there as a whole, also where the
//! program has touched none of it.
//!
//! What the program has written zeros to goes, too, since nothing tells it from the rest.
//! Nobody's write is lost: who writes meanwhile waits, also where there is one thread only,
//! since what cannot be closed for that is watched already, and stays as it is.
#![expect(unsafe_code, reason = "gives pages of the program's back")]

use core::ops::Range;

use crate::extent::{mlocked, stacks};
use crate::fault::late;
use crate::kernel::pagemap::{self, Page};
use crate::kernel::{dma_users, facts};
use crate::migrate::changes::Change;
use crate::rt::side_stack;
use crate::sys::{self, NoSignals, PastLimit, WriteProtection};

/// Where such pages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All of them: the memory has just left huge pages of a pool.
    All,
    /// Those in what may be a transparent huge page, with something in it: of a whole one of
    /// zeros the program has filled as much with zeros.
    InHugePages,
}

/// Has them go from a range, which is whole base pages. The caller must be inside of the gate.
pub fn hollow(range: &Range<usize>, which: Which) {
    if range.is_empty() || facts::has_filter() || mlocked::meets(range) {
        return;
    }
    // The kernel writes there for threads, and rings and devices by page.
    let is_written = || {
        let here = 0_u8;
        let own = [sys::thread_name(), (&raw const here) as usize];
        stacks::meets(range) || own.iter().any(|addr| range.contains(addr))
    };
    let _change = Change::begin();
    let _past_limit = PastLimit::begin();
    side_stack::on_side_stack(|| {
        // A handler that writes there would wait for this thread.
        let _quiet = NoSignals::begin();
        if is_written() || dma_users::writers().may_write_now() {
            return;
        }
        let whole = WriteProtection::open();
        if let Ok(protection) = whole.or_else(|_| WriteProtection::of_threads_only()) {
            parts(range).for_each(|part| hollow_part(&part, which, &protection));
        }
    });
}

/// The parts of a range that are in one transparent huge page at most.
fn parts(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let (mut at, end, size) = (range.start, range.end, facts::thp_size());
    core::iter::from_fn(move || {
        let start = at;
        at = ((start / size + 1) * size).min(end);
        (start < end).then_some(start..at)
    })
}

fn hollow_part(part: &Range<usize>, which: Which, protection: &WriteProtection) {
    let may_be_meant = which == Which::All || may_be_huge(part);
    if !may_be_meant || protection.protect(part).is_err() {
        return;
    }
    let is_whole = part.len() == facts::thp_size();
    if which == Which::All || !is_whole || !is_all_zero(part) {
        drop_zeros(part);
    }
    protection.release(part);
    protection.forget(part);
    late::note();
}

/// Whether all is there of the place of a transparent huge page that a part lies in.
fn may_be_huge(part: &Range<usize>) -> bool {
    let size = facts::thp_size();
    let start = part.start / size * size;
    let mut there = 0;
    let looked = pagemap::scan(start..start + size, |_, page| {
        there += usize::from(page == Page::Private);
    });
    looked.is_ok() && there == size / sys::page_size()
}

fn is_all_zero(part: &Range<usize>) -> bool {
    let mut pages = part.clone().step_by(sys::page_size());
    pages.all(is_zero)
}

/// Whether a page that is there may be read and is zero.
fn is_zero(page: usize) -> bool {
    let words = page..page + sys::page_size();
    // SAFETY: there, and may be read.
    let word = |at: usize| unsafe { (at as *const usize).read_volatile() };
    sys::look_at(page).is_ok() && words.step_by(size_of::<usize>()).all(|at| word(at) == 0)
}

fn drop_zeros(part: &Range<usize>) {
    let mut run = part.start..part.start;
    let give = |run: &Range<usize>| {
        if !run.is_empty() {
            // SAFETY: zeros, which are what comes back, and nobody writes there meanwhile.
            let _ = unsafe { sys::madvise(run.start, run.len(), libc::MADV_DONTNEED) };
        }
    };
    // What was not there as the part was closed may be written to.
    let looked = pagemap::scan(part.clone(), |page, what| {
        if what != Page::Private || !is_zero(page) {
            return;
        }
        if run.end != page {
            give(&run);
            run.start = page;
        }
        run.end = page + sys::page_size();
    });
    if looked.is_ok() {
        give(&run);
    }
}
