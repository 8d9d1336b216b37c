//! Code and read-only data. Nobody writes there, so other threads may run.
#![expect(unsafe_code, reason = "replaces the program's code by a copy")]

use core::ops::Range;

use super::divide::{Piece, divide};
use super::got::Got;
use super::load::{Load, inner};
use super::share::{self, Shelf};
use super::why::Why;
use super::wish::{Own, Wish};
use super::{own_pages, pool_file, unshared};
use crate::config;
use crate::extent::page_sizes::Layout;
use crate::extent::{Holds, index};
use crate::kernel::facts;
use crate::migrate::aside::Aside;
use crate::policy::{pool_backoff, thp};
use crate::sys::{self, Errno};

/// Puts a segment on huge pages. `stays` says that it is never unloaded, so
/// that it can be registered: what then wants to change a part of it, by
/// `mprotect` as an example, finds it on ordinary pages again. With a `shelf`
/// the copy there comes before one of its own.
pub fn put(load: &Load, wish: &Wish, stays: bool, shelf: Option<&Shelf>) -> Got {
    let (first, second) = wish.sizes();
    let mut got = Got {
        whole: load.inner(second).len(),
        ..Got::default()
    };
    if let Err(why) = may_replace(load, got.whole) {
        got.why = Some(why);
        return got;
    }
    let none = load.range.start..load.range.start;
    let all = from_file(load, &load.range);
    let done = match wish.own == Own::First && take_own(load, &all, &mut got) {
        true => all,
        false => shelf.map_or(none, |shelf| take_shared(load, shelf, &mut got)),
    };
    for rest in [load.range.start..done.start, done.end..load.range.end] {
        for piece in divide(&rest, first, second) {
            put_piece(load, wish, &piece, stays, &mut got);
        }
    }
    got
}

/// Whether other memory may take its place, of which so much is in whole huge pages.
fn may_replace(load: &Load, whole: usize) -> Result<(), Why> {
    // Reading it would be a fault.
    if load.prot & libc::PROT_READ == 0 {
        return Err(Why::Unreadable);
    }
    let mut loaded = load.loaded();
    // What was added behind its end is never executed.
    let end = load.file_end.next_multiple_of(sys::page_size());
    loaded.range.end = loaded.range.end.min(end);
    match whole == 0 || loaded.range.is_empty() || loaded.is_mapped_so() {
        true => Ok(()),
        false => Err(Why::Taken),
    }
}

/// What of a range, in whole transparent huge pages, comes from the file.
fn from_file(load: &Load, range: &Range<usize>) -> Range<usize> {
    let end = load.file_end.next_multiple_of(sys::page_size());
    inner(&(range.start..range.end.min(end)), facts::thp_size())
}

/// The part that is on the shared copy now; an empty one at the beginning where
/// none is.
fn take_shared(load: &Load, shelf: &Shelf, got: &mut Got) -> Range<usize> {
    let range = load.inner(shelf.page_size());
    let none = load.range.start..load.range.start;
    if range.is_empty() {
        return none;
    }
    match share::put(load, &range, shelf) {
        Ok(()) => {
            got.pool += range.len();
            range
        }
        Err(why) => {
            got.why = Some(why);
            none
        }
    }
}

/// Puts a segment on its file's own huge pages, or leaves it alone.
pub fn put_own(load: &Load) -> Got {
    let mut got = Got::default();
    let range = load.inner(facts::thp_size());
    if load.prot & libc::PROT_READ != 0 && take_own(load, &range, &mut got) {
        got.whole = range.len();
    }
    got.why = None;
    got
}

fn take_own(load: &Load, range: &Range<usize>, got: &mut Got) -> bool {
    if range.is_empty() {
        return false;
    }
    match own_pages::take(load, range) {
        Ok(()) => {
            got.own += range.len();
            true
        }
        Err(why) => {
            got.why = Some(why);
            false
        }
    }
}

fn put_piece(load: &Load, wish: &Wish, piece: &Piece, stays: bool, got: &mut Got) {
    let may_copy = unshared::may_copy();
    let rest = match may_copy {
        Ok(()) => wish.take_from_pools(piece, |piece| {
            let done = copy_to_pool(load, piece, stays);
            got.add_from_pool(piece.range.len(), done, |left| shortfall(piece, left))
        }),
        Err(_) => piece.range.clone(),
    };
    let mut rest = inner(&rest, facts::thp_size());
    let own = from_file(load, &rest);
    if wish.own == Own::Second && take_own(load, &own, got) {
        rest.start = own.end;
    }
    if rest.is_empty() {
        return;
    }
    if let Err(why) = may_copy {
        got.why = Some(why);
    } else if !wish.thp {
        got.why = Some(Why::NoFallback);
    } else if let Err(why) = to_thp(load, &rest) {
        got.why = Some(why);
    } else {
        got.thp += rest.len();
    }
}

fn shortfall(piece: &Piece, bytes: usize) -> Why {
    pool_backoff::private_shortfall_of(piece.size, bytes / piece.size).into()
}

fn copy_to_pool(load: &Load, piece: &Piece, stays: bool) -> Result<usize, Why> {
    if !stays {
        return replace_by_pool(load, piece);
    }
    let layout = Layout::of_pages(piece.size);
    let extent = index::adopt(piece.range.clone(), layout, Holds::Text, load.prot);
    let extent = extent.map_err(|_| Why::NoMemory)?;
    let result = replace_by_pool(load, piece);
    match result {
        Ok(done) => extent.publish_first(done, layout.page_state()),
        Err(_) => index::destroy(extent),
    }
    result
}

fn replace_by_pool(load: &Load, piece: &Piece) -> Result<usize, Why> {
    let (range, size) = (&piece.range, piece.size);
    // perf looks for names of its own list only where there is no file.
    if config::get().perf_map && !facts::has_threads() && Why::of_filter().is_ok() {
        if let Ok(done) = replace_by_memory(load, piece) {
            return Ok(done);
        }
    }
    let copy = |offset: usize, to: usize, len: usize| {
        // SAFETY: the segment is readable, and `to` new memory of that length.
        unsafe { copy(range.start + offset, to, len) };
    };
    // SAFETY: the copy is what the segment is, and nobody writes to it.
    let done =
        unsafe { pool_file::replace_by_file(range, size, load.prot, c"hugetlbfs-text", copy) };
    done.map_err(|why| match why {
        Why::PoolEmpty => shortfall(piece, range.len()),
        why => why,
    })
}

/// The same with memory that has no file, where the kernel can move such.
fn replace_by_memory(load: &Load, piece: &Piece) -> Result<usize, Errno> {
    let mut aside = Aside::from_pool(piece.range.len(), piece.size)?;
    aside.try_to_move(piece.size)?;
    let start = piece.range.start;
    // SAFETY: the segment is readable, and the other new memory of that length.
    let done = aside.fill(|offset, to, len| unsafe { copy(start + offset, to, len) });
    aside.protect(load.prot)?;
    // SAFETY: it is what the segment is, and nobody writes to it.
    unsafe { aside.replace(piece.range.start)? };
    Ok(done)
}

/// Copies a range to ordinary memory on transparent huge pages.
fn to_thp(load: &Load, range: &Range<usize>) -> Result<(), Why> {
    Why::of_filter()?;
    thp::serves_copy(range.len())?;
    unshared::take_memory(range.len())?;
    let aside = Aside::ordinary(range.len()).map_err(|_| Why::NoMemory)?;
    // A copy on base pages would only take memory.
    let mut aside = aside.ok_or_else(Why::of_no_thp)?;
    // SAFETY: the segment is readable, and the other new memory of that length.
    aside.fill(|offset, to, len| unsafe { copy(range.start + offset, to, len) });
    aside.protect(load.prot).map_err(denied)?;
    aside.name(c"hugetlbfs-text");
    // SAFETY: it is what the segment is, and nobody writes to it.
    unsafe { aside.replace(range.start) }.map_err(Why::of_replace)
}

/// # Safety
/// So much must be readable at `from`, and writable at `to`, which nobody else knows.
unsafe fn copy(from: usize, to: usize, len: usize) {
    // SAFETY: as the caller says.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
}

fn denied(error: Errno) -> Why {
    match error {
        Errno(libc::EACCES | libc::EPERM) => Why::Denied,
        _ => Why::NoMemory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;

    #[test]
    fn a_copy_has_the_same_contents_and_access() {
        if !thp::can_be_tried("a_copy_has_the_same_contents_and_access") {
            return;
        }
        let size = facts::thp_size();
        let len = 4 * size;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let start = unsafe { sys::mmap(0, len, prot, flags, -1, 0).unwrap() };
        let words = (start..start + len).step_by(256);
        for at in words.clone() {
            // SAFETY: mapped just now.
            unsafe { (at as *mut usize).write(at) };
        }
        let prot = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: memory of the test.
        unsafe { sys::mprotect(start, len, prot).unwrap() };
        let load = Load {
            range: start..start + len,
            file_end: start + len,
            file_start: start + 4096,
            modulus: usize::MAX,
            align: sys::page_size(),
            next: usize::MAX,
            prot,
            is_marked: false,
        };
        let wish = Wish {
            first: None,
            second: None,
            own: Own::First,
            thp: true,
        };
        let got = put(&load, &wish, true, None);
        assert_eq!((got.own, got.pool, got.thp), (0, 0, got.whole));
        assert_eq!(got.why, Some(Why::Elsewhere));
        for at in words {
            // SAFETY: mapped memory of the test.
            assert_eq!(unsafe { (at as *const usize).read() }, at);
        }
        let mut buffer = vec![0; 1 << 20];
        let maps = crate::kernel::procfile::head(c"/proc/self/maps", &mut buffer);
        let maps = core::str::from_utf8(maps).unwrap();
        let inner = load.inner(size);
        let found = maps.lines().any(|line| {
            let range = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let addr = |text| usize::from_str_radix(text, 16).unwrap();
            addr(range.0) <= inner.start && inner.end <= addr(range.1) && line.contains(" r-xp ")
        });
        assert!(found, "not readable and executable only: {maps}");
    }
}
