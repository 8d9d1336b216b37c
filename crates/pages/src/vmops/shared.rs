//! Calls on a region of shared memory on hugetlb pages.
//!
//! Calls on whole huge pages go to the kernel. For part of one the region becomes ordinary shared
//! memory if [`step_down`](super::step_down) can. Otherwise the call fails (`EINVAL`), as on any
//! huge page, and the first failure is reported.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::AtomicBool;

use super::advice::Kind;
use super::range::overlap;
use super::step_down::{can_step_down, step_down};
use crate::kernel::populate;
use crate::registry::region::Region;
use crate::registry::shared::LockedTable;
use crate::rt::message::{Amount, Level, say_once};
use crate::sys::{self, Errno, Result};

const INVALID: Errno = Errno(libc::EINVAL);
const NOT_MAPPED: Errno = Errno(libc::ENOMEM);

/// The access that a program requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// `PROT_READ` and so on.
    pub prot: c_int,
    /// The key of `pkey_mprotect(2)`.
    pub key: Option<c_int>,
}

impl Access {
    /// Calls `mprotect` or `pkey_mprotect`.
    ///
    /// # Safety
    /// As for [`sys::mprotect`].
    pub unsafe fn apply(self, range: &Range<usize>) -> Result<()> {
        match self.key {
            // SAFETY: upheld by the caller.
            None => unsafe { sys::mprotect(range.start, range.len(), self.prot) },
            // SAFETY: likewise.
            Some(key) => unsafe { sys::pkey_mprotect(range.start, range.len(), self.prot, key) },
        }
    }
}

pub(super) fn munmap(table: &mut LockedTable, region: Region, part: &Range<usize>) -> Result<()> {
    let known = overlap(part, &region.program_range());
    if known.is_empty() {
        return Ok(());
    }
    match expand_or_make_ordinary(table, region, "munmap", &known)? {
        Some(range) => {
            // SAFETY: the program unmaps it.
            unsafe { sys::munmap(range.start, range.len())? };
            let piece = table.isolate(region, &range);
            table.update(piece.base, None);
            Ok(())
        }
        // SAFETY: the program unmaps it.
        None => unsafe { sys::munmap(known.start, known.len()) },
    }
}

/// Expands a part of a region to whole huge pages. If it isn't aligned or the table is full, the
/// region becomes ordinary memory, and the result is `None`; `EINVAL` if it can't.
fn expand_or_make_ordinary(
    table: &mut LockedTable,
    region: Region,
    call: &str,
    part: &Range<usize>,
) -> Result<Option<Range<usize>>> {
    let pages = region.whole_pages(part);
    let pages = pages.filter(|pages| *pages == region.mapped() || table.has_slots(2));
    if pages.is_none() {
        make_ordinary(table, region, call, part)?;
    }
    Ok(pages)
}

/// Turns a region into ordinary memory for a call on a part of it; `EINVAL` if it can't.
pub(super) fn make_ordinary(
    table: &mut LockedTable,
    region: Region,
    call: &str,
    part: &Range<usize>,
) -> Result<()> {
    match can_step_down(&region) {
        true => step_down(table, region),
        false => Err(refuse(call, part)),
    }
}

/// Prepares a part for a fixed mapping over it. Whole huge pages need no preparation.
pub(super) fn make_replaceable(
    table: &mut LockedTable,
    region: Region,
    part: &Range<usize>,
) -> Result<()> {
    let is_aligned = |addr: usize| (addr - region.base) % region.page == 0;
    match is_aligned(part.start) && is_aligned(part.end) && table.has_slots(2) {
        true => Ok(()),
        false => make_ordinary(table, region, "mmap", part),
    }
}

/// Forgets the huge pages of a part where something else is mapped now, if the table has room.
pub(super) fn forget(table: &mut LockedTable, region: Region, part: &Range<usize>) {
    let start = part.start - (part.start - region.base) % region.page;
    let end = region.base + (part.end - region.base).next_multiple_of(region.page);
    let pages = start..end;
    if pages == region.mapped() || table.has_slots(2) {
        let piece = table.isolate(region, &pages);
        table.update(piece.base, None);
    }
}

pub(super) fn mprotect(
    table: &mut LockedTable,
    region: Region,
    part: &Range<usize>,
    access: Access,
) -> Result<()> {
    let known = overlap(part, &region.program_range());
    if known.is_empty() {
        return Err(NOT_MAPPED);
    }
    let Some(range) = expand_or_make_ordinary(table, region, "mprotect", &known)? else {
        // SAFETY: the program protects it.
        return unsafe { access.apply(&known) };
    };
    // SAFETY: the program protects it.
    unsafe { access.apply(&range)? };
    let piece = table.isolate(region, &range);
    let prot = access.prot;
    table.update(piece.base, Some(Region { prot, ..piece }));
    Ok(())
}

/// `mbind(2)`, which `bind` calls. Populates first: under a policy whose nodes have no free page a
/// touch raises SIGBUS.
pub(super) fn mbind(
    table: &mut LockedTable,
    region: Region,
    part: &Range<usize>,
    bind: impl Fn(&Range<usize>) -> Result<()>,
) -> Result<()> {
    let known = overlap(part, &region.program_range());
    match expand_or_make_ordinary(table, region, "mbind", &known)? {
        Some(range) => {
            populate::shared(range.start, range.len(), region.page)?;
            bind(&range)
        }
        None => bind(&known),
    }
}

/// Reports once that a call on part of a huge page fails; returns the error.
pub(super) fn refuse(call: &str, part: &Range<usize>) -> Errno {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    say_once(
        &REPORTED,
        Level::Warning,
        format_args!(
            "{call} of {} of shared memory fails: they are part of a huge page, and huge pages can \
             become base pages only in a process with one thread and no sharers",
            Amount(part.len())
        ),
    );
    INVALID
}

pub(super) fn madvise(
    table: &mut LockedTable,
    region: Region,
    part: &Range<usize>,
    advice: c_int,
) -> Result<()> {
    let known = overlap(part, &region.program_range());
    if known.is_empty() {
        return Err(NOT_MAPPED);
    }
    if !sys::supports_advice(advice) {
        return Err(INVALID);
    }
    let range = match Kind::of(advice) {
        // Undoes `MADV_DONTDUMP`.
        Kind::Hint if advice == libc::MADV_DODUMP => region.whole_pages(&known).unwrap_or(known),
        // Dropped pages of shared memory come back with their contents.
        Kind::Hint | Kind::Discard => return Ok(()),
        Kind::OnlyPrivate => return Err(INVALID),
        Kind::Kernel => known,
        // A removed page would return to the pool, which might be empty at the next touch.
        Kind::ExactRange if advice == libc::MADV_REMOVE => {
            make_ordinary(table, region, "madvise", &known)?;
            known
        }
        Kind::ExactRange => {
            expand_or_make_ordinary(table, region, "madvise", &known)?.unwrap_or(known)
        }
    };
    // SAFETY: the program's own advice.
    unsafe { sys::madvise(range.start, range.len(), advice) }
}
