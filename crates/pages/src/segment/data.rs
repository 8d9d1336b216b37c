//! Moves data and bss to huge pages. Copies them only while no other thread or signal handler runs:
//! a write between the copy and its move into place would be lost.
#![expect(unsafe_code, reason = "replaces the program's variables by a copy")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};

use hugetools_contract::env::Fallback;

use super::contents;
use super::load::{Load, inner};
use super::placement::Placement;
use super::reason::Reason;
use super::rungs::{Piece, Rungs};
use crate::config;
use crate::extent::page_sizes::Layout;
use crate::extent::{Holds, index};
use crate::fork;
use crate::kernel::{facts, hugetlb_pool};
use crate::migrate::staging::Staging;
use crate::policy::pool_backoff::Shortfall;
use crate::policy::thp::{self, NoThp};
use crate::sys::{self, Errno, NoSignals};

/// Puts a segment on huge pages, if its mappings are still as the loader made them. While other
/// threads run, copies nothing: only parts without contents are advised to use THP.
pub fn put(load: &Load, rungs: &Rungs) -> Placement {
    let mut placement = Placement {
        whole: load.inner(rungs.smallest()).len(),
        ..Placement::default()
    };
    if placement.whole > 0 && !load.loaded().is_unchanged() {
        placement.why = Some(Reason::Modified);
        return placement;
    }
    let is_alone = !facts::has_threads();
    let _signals_blocked = NoSignals::begin();
    let rest = rungs.take_from_pools(load.range.clone(), |piece| match is_alone {
        true => placement.add_from_pool(piece, move_to_pool(load, piece)),
        false => 0,
    });
    for part in rest.map(|part| inner(&part, facts::thp_size())) {
        if !part.is_empty() {
            move_to_thp(load, rungs, &part, is_alone, &mut placement);
        }
    }
    placement
}

/// Populates each whole huge page of a writable segment.
pub fn populate(load: &Load) {
    let range = load.inner(facts::thp_size());
    for at in range.step_by(facts::thp_size()) {
        // SAFETY: a writable segment of the program; its contents don't change.
        let byte = unsafe { AtomicU8::from_ptr(at as *mut u8) };
        let value = byte.load(Ordering::Relaxed);
        // If this fails, another thread's write has populated the page.
        let _ = byte.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Moves as much of a piece as possible to pool pages; returns the bytes moved.
fn move_to_pool(load: &Load, piece: &Piece) -> Result<usize, Reason> {
    let (range, size) = (&piece.range, piece.size);
    if sys::is_under_valgrind() {
        return Err(Reason::Pool(Shortfall::Valgrind));
    }
    if hugetlb_pool::has_address_slices(size) {
        return Err(Reason::AddressSlices);
    }
    Reason::check_filter()?;
    let staging = Staging::from_pool(range.len(), size);
    let mut staging = staging.map_err(|_| piece.shortfall(range.len()))?;
    staging.try_to_move(size).map_err(Reason::of_move)?;
    let layout = Layout::of_pages(size);
    let extent = index::adopt(range.clone(), layout, Holds::Data, load.prot);
    let extent = extent.map_err(|_| Reason::NoMemory)?;
    fork::watch();
    // SAFETY: no other thread runs, and signals are blocked.
    let moved = unsafe { fill_and_replace(load, range.start, staging) };
    let done = moved.inspect_err(|_| index::destroy(extent))?;
    extent.publish_first(done, layout.page_state());
    Ok(done)
}

/// Fills `staging` with the segment's memory from `start`, and replaces that memory by it. Returns
/// the bytes replaced.
///
/// # Safety
/// Nobody may write to that memory meanwhile.
unsafe fn fill_and_replace(
    load: &Load,
    start: usize,
    mut staging: Staging,
) -> Result<usize, Reason> {
    let done = staging.fill(|offset, to, len| {
        let part = start + offset..start + offset + len;
        // SAFETY: a readable segment that nobody writes to; `staging` is ours, zero and writable.
        unsafe { contents::copy(load, &part, to) };
    });
    staging.protect(load.prot).map_err(Reason::of_access)?;
    // SAFETY: upheld by the caller; `staging` holds the same contents.
    unsafe { staging.replace(start) }.map_err(Reason::of_replace)?;
    Ok(done)
}

/// Puts a range on transparent huge pages: advises parts without contents, and copies the others if
/// no other thread runs.
fn move_to_thp(
    load: &Load,
    rungs: &Rungs,
    range: &Range<usize>,
    is_alone: bool,
    placement: &mut Placement,
) {
    if !rungs.thp {
        placement.why = Some(Reason::NoFallback);
        if config::get().fallback == Fallback::Base {
            // With transparent_hugepage/enabled=always, bss would get huge pages without advice.
            let _ = advise(range, libc::MADV_NOHUGEPAGE);
        }
        return;
    }
    if let Err(why) = thp::serves_private() {
        placement.why = Some(Reason::Thp(why));
        return;
    }
    let size = facts::thp_size();
    let mut at = range.start;
    while at < range.end {
        let has_contents = contents::any(load, &(at..at + size));
        let mut end = at + size;
        while end < range.end && contents::any(load, &(end..end + size)) == has_contents {
            end += size;
        }
        let result = match (has_contents, is_alone) {
            (false, _) => advise(&(at..end), libc::MADV_HUGEPAGE),
            // SAFETY: no other thread runs, and signals are blocked.
            (true, true) => unsafe { copy_to_thp(load, &(at..end)) },
            (true, false) => Err(Reason::Threads),
        };
        match result {
            Ok(()) => placement.thp += end - at,
            Err(why) => placement.why = Some(why),
        }
        at = end;
    }
}

fn advise(range: &Range<usize>, advice: c_int) -> Result<(), Reason> {
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(range.start, range.len(), advice) };
    advised.map_err(|error| match error {
        Errno(libc::EPERM | libc::EACCES | libc::ENOSYS) => Reason::Thp(NoThp::Refused),
        _ => Reason::Thp(NoThp::Absent),
    })
}

/// Replaces a range by a copy on transparent huge pages.
///
/// # Safety
/// Nobody may write to the range meanwhile.
unsafe fn copy_to_thp(load: &Load, range: &Range<usize>) -> Result<(), Reason> {
    Reason::check_filter()?;
    let staging = Staging::transparent(range.len()).map_err(|_| Reason::NoMemory)?;
    let staging = staging.ok_or_else(Reason::of_no_thp)?;
    // SAFETY: upheld by the caller.
    unsafe { fill_and_replace(load, range.start, staging) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THP: Rungs = Rungs {
        first: None,
        second: None,
        page_cache_first: true,
        thp: true,
    };

    /// Maps 1.5 huge pages of data, then bss with one nonzero word.
    fn map_segment() -> Load {
        let size = facts::thp_size();
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let len = 8 * size + 3 * sys::page_size();
        let start = sys::map_new(len).unwrap();
        let load = Load {
            range: start..start + len,
            file_end: start + 3 * size / 2 + 77,
            file_start: start,
            modulus: usize::MAX,
            align: sys::page_size(),
            next: usize::MAX,
            prot,
            is_marked: false,
        };
        for at in (start..load.file_end).step_by(512) {
            // SAFETY: mapped just now.
            unsafe { (at as *mut usize).write_unaligned(at) };
        }
        // SAFETY: likewise.
        unsafe { ((start + 6 * size) as *mut usize).write_unaligned(6) };
        load
    }

    fn assert_contents(load: &Load) {
        let size = facts::thp_size();
        for at in (load.range.start..load.file_end).step_by(512) {
            // SAFETY: mapped memory of the test.
            assert_eq!(unsafe { (at as *const usize).read_unaligned() }, at);
        }
        let rest = (load.range.start + 2 * size..load.range.end - 8).step_by(4096);
        for at in rest {
            let expected = if at == load.range.start + 6 * size {
                6
            } else {
                0
            };
            // SAFETY: mapped memory of the test.
            assert_eq!(unsafe { (at as *const usize).read_unaligned() }, expected);
        }
    }

    #[test]
    fn a_copy_keeps_contents_and_leaves_bss_unpopulated() {
        if !thp::can_be_tried("a_copy_keeps_contents_and_leaves_bss_unpopulated") {
            return;
        }
        let load = map_segment();
        let range = load.inner(facts::thp_size());
        let mut placement = Placement::default();
        move_to_thp(&load, &THP, &range, true, &mut placement);
        assert_eq!((placement.thp, placement.why), (range.len(), None));
        let mut populated = 0;
        let bss_before_word = load.file_end.next_multiple_of(facts::thp_size())
            ..(load.range.start + 6 * facts::thp_size()) / facts::thp_size() * facts::thp_size();
        crate::kernel::pagemap::scan(bss_before_word, |_, page| {
            populated += usize::from(page != crate::kernel::pagemap::Page::Absent);
        })
        .unwrap();
        assert_eq!(populated, 0, "pages of bss were populated");
        assert_contents(&load);
    }

    #[test]
    fn with_other_threads_only_parts_without_contents_are_advised() {
        if !thp::can_be_tried("with_other_threads_only_parts_without_contents_are_advised") {
            return;
        }
        let load = map_segment();
        let placement = put(&load, &THP);
        assert!(0 < placement.thp && placement.thp < placement.whole);
        assert_eq!(placement.why, Some(Reason::Threads));
        assert_contents(&load);
    }
}
