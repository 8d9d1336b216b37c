//! What a program does to a region of shared memory on hugetlb pages.
//!
//! A call on whole huge pages is the kernel's. A call on a part of one first
//! turns the region into ordinary shared memory, and then does exactly what it
//! says. Once another process shares the region that cannot be done any more:
//! the huge pages stay, the contents stay right, and a call is done as far as
//! nobody could tell the difference; else it fails, as the kernel's own does on
//! huge pages, and one line says so.
#![expect(unsafe_code, reason = "changes the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::AtomicBool;

use super::advice::Kind;
use super::range::overlap;
use super::step_down::{can_step_down, can_step_down_soon, may_be_written, step_down};
use crate::extent::mlocked;
use crate::registry::region::{Backing, Region};
use crate::registry::shared::Open;
use crate::rt::message::{Amount, Level, say_once};
use crate::sys::{self, Errno, Result};

const INVALID: Errno = Errno(libc::EINVAL);
const NOT_MAPPED: Errno = Errno(libc::ENOMEM);

/// The access that a program asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// `PROT_READ` and so on.
    pub prot: c_int,
    /// The key of `pkey_mprotect(2)`.
    pub key: Option<c_int>,
}

impl Access {
    /// The call as it is.
    ///
    /// # Safety
    /// As for [`sys::mprotect`].
    pub unsafe fn give(self, range: &Range<usize>) -> Result<()> {
        match self.key {
            // SAFETY: as the caller says.
            None => unsafe { sys::mprotect(range.start, range.len(), self.prot) },
            // SAFETY: likewise.
            Some(key) => unsafe { sys::pkey_mprotect(range.start, range.len(), self.prot, key) },
        }
    }
}

/// `munmap`
pub(super) fn munmap(open: &mut Open, region: Region, part: &Range<usize>) -> Result<()> {
    let known = overlap(part, &region.known());
    if known.is_empty() {
        return Ok(());
    }
    if let Some(range) = region.whole_pages(&known) {
        if range == region.mapped() || open.has_places(2) {
            return unmap_pages(open, region, &range);
        }
    }
    if !may_be_written() && can_step_down(open, &region) {
        // Where that fails, for want of address space or for who has come between, the pages
        // stay.
        let _ = step_down(open, region);
        if !is_entered(open, &region) {
            // SAFETY: the program unmaps it.
            return unsafe { sys::munmap(known.start, known.len()) };
        }
    }
    let inner = region.pages_within(&known);
    if !inner.is_empty() && open.has_places(2) {
        unmap_pages(open, region, &inner)?;
    }
    note_holes(open, &region, &known)
}

/// Whether memory is on huge pages still.
fn is_entered(open: &mut Open, region: &Region) -> bool {
    let is_it = |it: &Region| it.base == region.base && it.origin == region.origin;
    open.find(is_it).is_some()
}

/// Unmaps whole huge pages. There must be two places.
fn unmap_pages(open: &mut Open, region: Region, range: &Range<usize>) -> Result<()> {
    // SAFETY: the program unmaps it.
    unsafe { sys::munmap(range.start, range.len())? };
    let piece = open.isolate(region, range);
    open.update(piece.base, None);
    Ok(())
}

/// Notes what is unmapped of pages that stay, until all of a piece is.
fn note_holes(open: &mut Open, region: &Region, known: &Range<usize>) -> Result<()> {
    let mut at = known.start;
    while let Some(mut piece) = open.first(&(at..known.end)) {
        at = piece.mapped().end;
        if piece.origin != region.origin {
            continue;
        }
        piece.gone.add(overlap(known, &piece.known()));
        if piece.gone.covers(&piece.known()) {
            // SAFETY: the program has unmapped all that it knows of it.
            unsafe { sys::munmap(piece.base, piece.mapped)? };
            open.update(piece.base, None);
        } else {
            open.update(piece.base, Some(piece));
        }
    }
    Ok(())
}

/// Before something else is mapped over a part: whole huge pages can be
/// replaced as they are.
pub(super) fn make_replaceable(open: &mut Open, region: Region, part: &Range<usize>) -> Result<()> {
    let whole = |addr: usize| (addr - region.base) % region.page == 0;
    if whole(part.start) && whole(part.end) && open.has_places(2) {
        return Ok(());
    }
    let is_all = part.start <= region.base && region.known().end <= part.end;
    if can_step_down_soon(open, &region) {
        let result = step_down(open, region);
        // There may be no address space for a copy.
        if !is_all || result.is_ok() || !is_entered(open, &region) {
            return result;
        }
    }
    match is_all {
        true => make_room(open, region, part),
        false => Err(refuse("mmap", part)),
    }
}

/// Takes away a region, all of which is about to be mapped over, though not all of its last
/// huge page. Nothing else can come to lie there meanwhile: what is in the way is replaced by
/// a mapping that nobody can touch, and only what nothing will be mapped over is unmapped.
fn make_room(open: &mut Open, region: Region, part: &Range<usize>) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let (base, mapped) = (region.base, region.mapped);
    // SAFETY: the program maps something else over all that it knows of it.
    unsafe { sys::mmap(base, mapped, libc::PROT_NONE, flags, -1, 0)? };
    open.update(base, None);
    let tail = part.end.max(region.known().end)..region.mapped().end;
    match tail.is_empty() {
        true => Ok(()),
        // SAFETY: the program does not know of it.
        false => unsafe { sys::munmap(tail.start, tail.len()) },
    }
}

/// Has a region become ordinary memory.
///
/// # Errors
/// Where other processes share it.
pub(super) fn make_ordinary(open: &mut Open, region: Region) -> Result<()> {
    match can_step_down_soon(open, &region) {
        true => step_down(open, region),
        false => Err(INVALID),
    }
}

/// After something else was mapped over whole huge pages.
pub(super) fn replaced(open: &mut Open, region: Region, part: &Range<usize>) {
    let pages = region.pages_within(part);
    if !pages.is_empty() && open.has_places(2) {
        let piece = open.isolate(region, &pages);
        open.update(piece.base, None);
    }
}

/// `mprotect`, `pkey_mprotect`
pub(super) fn mprotect(
    open: &mut Open,
    region: Region,
    part: &Range<usize>,
    access: Access,
) -> Result<()> {
    let known = overlap(part, &region.known());
    if known.is_empty() {
        return Err(NOT_MAPPED);
    }
    let pages = region.whole_pages(&known).filter(|_| open.has_places(2));
    if let Some(range) = pages {
        return protect_pages(open, region, &range, access);
    }
    if access.prot == region.prot && access.key.is_none() {
        return Ok(());
    }
    let gives = access.prot & region.prot == region.prot && access.key.is_none();
    let can = match gives {
        true => can_step_down(open, &region),
        false => can_step_down_soon(open, &region),
    };
    if can {
        step_down(open, region)?;
        // SAFETY: the program protects it.
        return unsafe { access.give(&known) };
    }
    if gives && open.has_places(2) {
        // It may do what it asks for; its neighbours in the page may, too.
        return protect_pages(open, region, &region.pages_around(&known), access);
    }
    Err(refuse("mprotect", &known))
}

/// Changes the access of whole huge pages. There must be two places.
fn protect_pages(
    open: &mut Open,
    region: Region,
    range: &Range<usize>,
    access: Access,
) -> Result<()> {
    // SAFETY: the program protects it.
    unsafe { access.give(range)? };
    if access.prot == region.prot {
        // For the kernel, too, it stays one piece.
        return Ok(());
    }
    let piece = open.isolate(region, range);
    let prot = access.prot;
    open.update(piece.base, Some(Region { prot, ..piece }));
    if matches!(region.backing, Backing::Anonymous) {
        open.join(piece.base);
    }
    Ok(())
}

/// Says that a call on a part of a huge page cannot be done, and with which
/// error it fails.
pub(super) fn refuse(call: &str, part: &Range<usize>) -> Errno {
    static SAID: AtomicBool = AtomicBool::new(false);
    say_once(
        &SAID,
        Level::Warning,
        format_args!(
            "{call}: {} of shared memory are a part of a huge page that other processes have or \
             may have, too: such a call fails (EINVAL)",
            Amount(part.len())
        ),
    );
    INVALID
}

/// `madvise`
pub(super) fn madvise(
    open: &mut Open,
    region: Region,
    part: &Range<usize>,
    advice: c_int,
) -> Result<()> {
    let known = overlap(part, &region.known());
    if known.is_empty() {
        return Err(NOT_MAPPED);
    }
    if !sys::knows_advice(advice) {
        return Err(INVALID);
    }
    let kind = Kind::of(advice);
    if kind.is_refused_where_locked(advice) && mlocked::meets(&known) {
        return Err(INVALID);
    }
    match kind {
        // What is dropped of shared memory is there at the next look.
        Kind::Hint | Kind::Drops | Kind::Reclaims => Ok(()),
        Kind::Undoes if advice != libc::MADV_DODUMP => Ok(()),
        Kind::Hides | Kind::Undoes => hide(open, region, &known, advice),
        Kind::OnlyPrivate => Err(INVALID),
        Kind::Frees => free_contents(open, region, &known),
        Kind::Marks => mark(open, region, &known, advice),
        // SAFETY: the program's own advice.
        Kind::Kernel => unsafe { sys::madvise(known.start, known.len(), advice) },
    }
}

/// `MADV_DONTDUMP`, and `MADV_DODUMP`. What has to stay is left out of a dump page by page; a
/// part of a page is not, since what shows it again would not tell whether the rest is to
/// stay hidden.
fn hide(open: &mut Open, region: Region, part: &Range<usize>, advice: c_int) -> Result<()> {
    let hidden = advice == libc::MADV_DONTDUMP;
    if region.hidden == hidden {
        return Ok(());
    }
    if region.whole_pages(part).is_none() && can_step_down(open, &region) {
        step_down(open, region)?;
        // SAFETY: the program's own advice.
        return unsafe { sys::madvise(part.start, part.len(), advice) };
    }
    set_hidden(open, region, &region.pages_within(part), hidden);
    Ok(())
}

/// Notes it of whole huge pages, and tells the kernel.
fn set_hidden(open: &mut Open, region: Region, pages: &Range<usize>, hidden: bool) {
    let advice = match hidden {
        true => libc::MADV_DONTDUMP,
        false => libc::MADV_DODUMP,
    };
    if pages.is_empty() {
        return;
    }
    // SAFETY: the program's own advice.
    let _ = unsafe { sys::madvise(pages.start, pages.len(), advice) };
    if !open.has_places(2) {
        return;
    }
    let piece = open.isolate(region, pages);
    open.update(piece.base, Some(Region { hidden, ..piece }));
    if matches!(region.backing, Backing::Anonymous) {
        open.join(piece.base);
    }
}

/// `MADV_DONTFORK` and the like.
fn mark(open: &mut Open, region: Region, part: &Range<usize>, advice: c_int) -> Result<()> {
    let part = if can_step_down_soon(open, &region) {
        // Nothing is behind its end any more.
        step_down(open, region)?;
        part.clone()
    } else {
        let whole = region.whole_pages(part);
        whole.ok_or_else(|| refuse("madvise", part))?
    };
    // SAFETY: the program's own advice.
    unsafe { sys::madvise(part.start, part.len(), advice) }
}

/// `MADV_REMOVE`: the contents are zero afterwards. A page that went back to the
/// pool might not be had again, so those that are shared stay.
fn free_contents(open: &mut Open, region: Region, part: &Range<usize>) -> Result<()> {
    if let Backing::Segment(_, flags) = region.backing {
        if flags & libc::SHM_RDONLY != 0 {
            return Err(Errno(libc::EACCES));
        }
    }
    if can_step_down(open, &region) {
        step_down(open, region)?;
        // SAFETY: the program's own advice.
        return unsafe { sys::madvise(part.start, part.len(), libc::MADV_REMOVE) };
    }
    let pages = region.pages_around(part);
    let writable = region.prot & libc::PROT_WRITE != 0;
    let open_up = libc::PROT_READ | libc::PROT_WRITE;
    if !writable {
        // SAFETY: for as long as it takes.
        unsafe { sys::mprotect(pages.start, pages.len(), open_up)? };
    }
    // SAFETY: the program gives up the contents of this memory of its own.
    unsafe { core::ptr::write_bytes(part.start as *mut u8, 0, part.len()) };
    match writable {
        true => Ok(()),
        // SAFETY: as it was.
        false => unsafe { sys::mprotect(pages.start, pages.len(), region.prot) },
    }
}
