//! Code and read-only data. They are never written, so other threads may run.
#![expect(unsafe_code, reason = "replaces the program's code by a copy")]

use core::ops::Range;

use super::load::{Load, inner};
use super::placement::Placement;
use super::reason::Reason;
use super::rungs::{Piece, Rungs};
use super::share::{self, ShareDir};
use super::{page_cache, pool_file, private_copy};
use crate::config;
use crate::extent::page_sizes::Layout;
use crate::extent::{Holds, index};
use crate::kernel::facts;
use crate::migrate::staging::Staging;
use crate::policy::thp;
use crate::sys::Errno;

/// Puts a segment on huge pages. If it is never unloaded (`stays`), copies on pool pages are
/// registered, so that operations on part of a page move that page to base pages first. A shared
/// copy is preferred to a private one.
pub fn put(load: &Load, rungs: &Rungs, stays: bool, share_dir: Option<&ShareDir>) -> Placement {
    let mut got = Placement {
        whole: load.inner(rungs.smallest()).len(),
        ..Placement::default()
    };
    if let Err(why) = may_replace(load, got.whole) {
        got.why = Some(why);
        return got;
    }
    let done = take_common(load, rungs, share_dir, &mut got);
    for rest in [load.range.start..done.start, done.end..load.range.end] {
        put_rest(load, rungs, rest, stays, &mut got);
    }
    got
}

/// Whether the segment may be replaced; `whole` bytes of it are whole huge pages.
fn may_replace(load: &Load, whole: usize) -> Result<(), Reason> {
    // Execute-only code can't be copied.
    if load.prot & libc::PROT_READ == 0 {
        return Err(Reason::Unreadable);
    }
    let mut loaded = load.loaded();
    // The tail behind the file's end isn't mapped executable.
    loaded.range.end = loaded.range.end.min(load.file_pages_end());
    match whole == 0 || loaded.range.is_empty() || loaded.is_unchanged() {
        true => Ok(()),
        false => Err(Reason::Modified),
    }
}

/// The whole huge pages of a range that the file backs.
fn from_file(load: &Load, range: &Range<usize>) -> Range<usize> {
    let end = range.end.min(load.file_pages_end());
    inner(&(range.start..end), facts::thp_size())
}

/// Maps pages that processes have in common: the file's or, from a pool, the shared copy. Returns
/// the range replaced, which may be empty.
fn take_common(
    load: &Load,
    rungs: &Rungs,
    share_dir: Option<&ShareDir>,
    got: &mut Placement,
) -> Range<usize> {
    let all = from_file(load, &load.range);
    if rungs.page_cache_first && take_page_cache(load, &all, got) {
        return all;
    }
    let shared = share_dir.map(|share_dir| (load.inner(share_dir.page_size()), share_dir));
    if let Some((range, share_dir)) = shared.filter(|(range, _)| !range.is_empty()) {
        match share::put(load, &range, share_dir) {
            Ok(()) => {
                got.pool += range.len();
                return range;
            }
            Err(why) => got.why = Some(why),
        }
    }
    load.range.start..load.range.start
}

/// Maps a segment by its file's own huge pages, if possible.
pub fn put_page_cache(load: &Load) -> Placement {
    let range = load.inner(facts::thp_size());
    let is_taken = load.prot & libc::PROT_READ != 0 && page_cache::take(load, &range).is_ok();
    let bytes = if is_taken { range.len() } else { 0 };
    Placement {
        whole: bytes,
        page_cache: bytes,
        ..Placement::default()
    }
}

fn take_page_cache(load: &Load, range: &Range<usize>, got: &mut Placement) -> bool {
    if range.is_empty() {
        return false;
    }
    match page_cache::take(load, range) {
        Ok(()) => {
            got.page_cache += range.len();
            true
        }
        Err(why) => {
            got.why = Some(why);
            false
        }
    }
}

/// Puts a part that no shared pages serve on pages of this process or, if a pool was requested by
/// its page size, on the file's.
fn put_rest(load: &Load, rungs: &Rungs, range: Range<usize>, stays: bool, got: &mut Placement) {
    let may_copy = private_copy::may_copy();
    let rest = rungs.take_from_pools(range, |piece| match may_copy {
        Ok(()) => got.add_from_pool(piece, copy_to_pool(load, piece, stays)),
        Err(_) => 0,
    });
    for part in rest {
        let mut part = inner(&part, facts::thp_size());
        let own = from_file(load, &part);
        if !rungs.page_cache_first && take_page_cache(load, &own, got) {
            part.start = own.end;
        }
        if part.is_empty() {
            continue;
        }
        if let Err(why) = may_copy {
            got.why = Some(why);
        } else if !rungs.thp {
            got.why = Some(Reason::NoFallback);
        } else if let Err(why) = to_thp(load, &part) {
            got.why = Some(why);
        } else {
            got.thp += part.len();
        }
    }
}

fn copy_to_pool(load: &Load, piece: &Piece, stays: bool) -> Result<usize, Reason> {
    if !stays {
        return replace_by_pool(load, piece);
    }
    let layout = Layout::of_pages(piece.size);
    let extent = index::adopt(piece.range.clone(), layout, Holds::Text, load.prot);
    let extent = extent.map_err(|_| Reason::NoMemory)?;
    let result = replace_by_pool(load, piece);
    match result {
        Ok(done) => extent.publish_first(done, layout.page_state()),
        Err(_) => index::destroy(extent),
    }
    result
}

fn replace_by_pool(load: &Load, piece: &Piece) -> Result<usize, Reason> {
    let (range, size) = (&piece.range, piece.size);
    // perf uses /tmp/perf-PID.map only for memory without a file.
    if config::get().perf_map && !facts::has_threads() && Reason::check_filter().is_ok() {
        if let Ok(done) = replace_by_memory(load, piece) {
            return Ok(done);
        }
    }
    let copy = |offset: usize, to: usize, len: usize| {
        // SAFETY: the segment is readable; `to` is new memory of that length.
        unsafe { copy(range.start + offset, to, len) };
    };
    // SAFETY: the copy is exact, and nobody writes to the segment.
    let done = unsafe { pool_file::replace_by_file(range, size, load.prot, copy) };
    done.map_err(|why| match why {
        Reason::POOL_EMPTY => piece.shortfall(range.len()),
        why => why,
    })
}

/// Replaces a piece by memory without a file, if the kernel can move hugetlb pages.
fn replace_by_memory(load: &Load, piece: &Piece) -> Result<usize, Errno> {
    let mut staging = Staging::from_pool(piece.range.len(), piece.size)?;
    staging.try_to_move(piece.size)?;
    let start = piece.range.start;
    // SAFETY: the segment is readable; the copy is new memory of that length.
    let done = staging.fill(|offset, to, len| unsafe { copy(start + offset, to, len) });
    staging.protect(load.prot)?;
    // SAFETY: the copy is exact, and nobody writes to the segment.
    unsafe { staging.replace(piece.range.start)? };
    Ok(done)
}

fn to_thp(load: &Load, range: &Range<usize>) -> Result<(), Reason> {
    Reason::check_filter()?;
    thp::serves_copy(range.len()).map_err(Reason::Thp)?;
    private_copy::take_memory(range.len())?;
    let staging = Staging::transparent(range.len()).map_err(|_| Reason::NoMemory)?;
    // A copy on base pages would only cost memory.
    let mut staging = staging.ok_or_else(Reason::of_no_thp)?;
    // SAFETY: the segment is readable; the copy is new memory of that length.
    staging.fill(|offset, to, len| unsafe { copy(range.start + offset, to, len) });
    staging.protect(load.prot).map_err(Reason::of_access)?;
    staging.name(c"hugetlbfs-text");
    // SAFETY: the copy is exact, and nobody writes to the segment.
    unsafe { staging.replace(range.start) }.map_err(Reason::of_replace)
}

/// # Safety
/// `from` must be readable, and `to` writable and unknown to others.
unsafe fn copy(from: usize, to: usize, len: usize) {
    // SAFETY: upheld by the caller.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
}
