//! What a program does to memory of its heap or its segments: guard pages by
//! `mprotect`, contents dropped by `madvise`, other memory in its place. Hugetlb
//! pages know none of that for a part of them, so the memory concerned becomes
//! ordinary memory first. For what is only a hint it stays.
#![expect(unsafe_code, reason = "passes the program's advice on")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::AtomicBool;

use super::advice::{Holes, Kind};
use super::shared::Access;
use crate::extent::{index, mlocked};
use crate::migrate::off_pool::{self, Outcome};
use crate::rt::message::{Level, say_once};
use crate::sys::{self, Errno, Result};

pub(super) mod own_file;

/// Prepares memory for a call that changes its access, or unmaps it.
pub(super) fn before_change(range: &Range<usize>) {
    if index::meets(range) {
        off_pool::step_down(range.start, range.len());
        mlocked::restore(range);
    }
}

/// `mprotect`, where huge pages stay in the range since a device or a ring writes
/// to them: each of them keeps the access that any part of it had. `None` where
/// none do.
pub(super) fn mprotect(range: &Range<usize>, access: Access) -> Option<Result<()>> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !index::meets(range) {
        return None;
    }
    if !has_huge_pages(range) {
        return protect_ordinary(range, access);
    }
    match off_pool::step_down(range.start, range.len()) {
        Outcome::Moved => {
            mlocked::restore(range);
            return protect_ordinary(range, access);
        }
        // No address space for what takes their place, or no memory.
        Outcome::NoMemory => return Some(Err(Errno(libc::ENOMEM))),
        Outcome::InUse => {}
    }
    say_once(
        &SAID,
        Level::Warning,
        format_args!(
            "mprotect: a device or a ring may be writing to a huge page of the heap, which stays \
             and can be read and written as a whole"
        ),
    );
    Some(each_part(range, |part, is_huge| match is_huge {
        true => Ok(()),
        // SAFETY: the program's own access.
        false => unsafe { access.give(&part) },
    }))
}

/// The same, where none do: unless another thread has them come back just then.
/// `None` for a call that the kernel refuses for other reasons.
fn protect_ordinary(range: &Range<usize>, access: Access) -> Option<Result<()>> {
    for _ in 0..MOST {
        // SAFETY: the program's own access.
        match unsafe { access.give(range) } {
            Err(Errno(libc::EINVAL)) => before_change(range),
            result => return Some(result),
        }
    }
    None
}

/// So often is a range made ordinary memory for one call.
const MOST: u32 = 4;

/// Whether huge pages of ours stand in a range.
fn has_huge_pages(range: &Range<usize>) -> bool {
    let mut at = range.start;
    while at < range.end {
        let (is_huge, end) = stretch(at, range.end);
        if is_huge {
            return true;
        }
        at = end;
    }
    false
}

/// `madvise`
pub(super) fn madvise(range: &Range<usize>, advice: c_int) -> Result<()> {
    advise(range, advice, MOST)
}

/// The same, once more for what the kernel refuses as ordinary memory: another thread
/// may have had huge pages come back just then.
fn advise(range: &Range<usize>, advice: c_int, tries: u32) -> Result<()> {
    let kind = Kind::of(advice);
    if kind.needs_ordinary_memory() {
        before_change(range);
    }
    let is_known = kind != Kind::Kernel && sys::knows_advice(advice);
    // SAFETY: the program's own advice.
    let give = |part: &Range<usize>| match unsafe { sys::madvise(part.start, part.len(), advice) } {
        Err(Errno(libc::EINVAL)) if is_known && tries > 1 => advise(part, advice, tries - 1),
        result => result,
    };
    if !is_known || !has_huge_pages(range) {
        return give(range);
    }
    let mut holes = Holes::none();
    let result = each_part(range, |part, is_huge| {
        holes.pass(match is_huge {
            true => advise_huge(&part, kind, advice),
            false => give(&part),
        })
    });
    holes.end(result)
}

/// An advice for a part of huge pages: a hint, or what could not become ordinary
/// memory, since a device or a ring writes to it or there is no memory.
fn advise_huge(part: &Range<usize>, kind: Kind, advice: c_int) -> Result<()> {
    static SAID: AtomicBool = AtomicBool::new(false);
    match kind {
        Kind::Hint | Kind::Undoes | Kind::Reclaims | Kind::Hides => Ok(()),
        // The contents may go at any time, or never.
        Kind::OnlyPrivate if advice == libc::MADV_FREE => Ok(()),
        Kind::Drops => {
            // SAFETY: the program gives up these contents of its own block.
            unsafe { core::ptr::write_bytes(part.start as *mut u8, 0, part.len()) };
            Ok(())
        }
        Kind::Frees => Err(Errno(libc::EINVAL)),
        Kind::OnlyPrivate | Kind::Marks | Kind::Kernel => {
            say_once(
                &SAID,
                Level::Warning,
                format_args!(
                    "madvise({advice}): a part of a huge page of the heap, to which a device or a \
                     ring may be writing, cannot be treated otherwise than the rest: such a call \
                     fails (EINVAL)"
                ),
            );
            Err(Errno(libc::EINVAL))
        }
    }
}

/// Calls `each` for the parts of a range that lie on huge pages of ours, and for
/// those that do not.
fn each_part(
    range: &Range<usize>,
    mut each: impl FnMut(Range<usize>, bool) -> Result<()>,
) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let start = at;
        let (is_huge, mut end) = stretch(at, range.end);
        while end < range.end {
            let (other, next) = stretch(end, range.end);
            if other != is_huge {
                break;
            }
            end = next;
        }
        each(start..end, is_huge)?;
        at = end;
    }
    Ok(())
}

/// Whether a huge page of ours stands at an address, and how far, at most to
/// `end`, the answer holds.
fn stretch(addr: usize, end: usize) -> (bool, usize) {
    index::look(|| {
        let Some(extent) = index::extents().find(|extent| extent.contains(addr)) else {
            let bases = index::extents().map(|extent| extent.base);
            let next = bases.filter(|base| *base > addr).min();
            return (false, next.unwrap_or(end).min(end));
        };
        let unit = extent.unit_at(addr);
        let (state, _) = extent.units()[unit].settled();
        let page = extent.page_of(unit, state);
        (state.is_hugetlb(), extent.address(page.end).min(end))
    })
}
