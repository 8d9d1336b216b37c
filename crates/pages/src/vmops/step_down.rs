//! Turning a mapping of shared memory on hugetlb pages into ordinary shared memory with the
//! same contents and access. Only while this process alone has it and has one thread: nobody
//! writes there meanwhile.
#![expect(unsafe_code, reason = "replaces the program's memory")]

use core::ops::Range;

use super::map_shared::advise;
use crate::extent::mlocked;
use crate::kernel::facts;
use crate::policy::fresh_copy;
use crate::registry::region::{Backing, Region};
use crate::registry::shared::Open;
use crate::sys::{self, Result};

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Memory that stays for others.
const MARGIN: usize = 64 << 20;

/// Whether a region can become ordinary memory. A System V segment cannot: others find it
/// by its number.
pub(super) fn can_step_down(region: &Region) -> bool {
    let is_alone = region.backing == Backing::Anonymous && !region.born.may_have_heirs();
    is_alone && !facts::has_threads() && has_room(region.whole)
}

/// Whether it is known that there is memory for a copy.
fn has_room(len: usize) -> bool {
    facts::room_or_last().is_some_and(|room| room >= len.saturating_add(MARGIN))
}

/// Does it, with all pieces of the mapping. What of it was entered before is not there
/// afterwards.
///
/// # Errors
/// The kernel's; what is entered still is as it was.
pub(super) fn step_down(open: &mut Open, region: Region) -> Result<()> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let map = |flags| unsafe { sys::mmap(0, region.whole, READ_WRITE, flags, -1, 0) };
    let aside = map(flags).or_else(|_| map(flags | libc::MAP_NORESERVE))?;
    advise(aside, region.whole);
    let mut result = Ok(());
    while let Some(piece) = open.find(|piece| piece.origin == region.origin) {
        result = replace_piece(&piece, aside + piece.offset);
        if result.is_err() {
            break;
        }
        open.update(piece.base, None);
    }
    // SAFETY: the pieces have mappings of their own.
    unsafe { sys::munmap(aside, region.whole)? };
    result
}

/// Puts the part of a new object that is mapped at `aside` in the place of a piece.
fn replace_piece(piece: &Region, aside: usize) -> Result<()> {
    // SAFETY: the piece is ours to change, and no other process shares it.
    unsafe { sys::mprotect(piece.base, piece.mapped, piece.prot | libc::PROT_READ)? };
    // SAFETY: two mappings of this length, of which nobody writes to the first.
    unsafe { fresh_copy::copy_what_is_there(piece.base, aside, piece.len) };
    let put = put_over(piece, aside);
    if put.is_err() {
        // SAFETY: the access that the program gave it.
        let _ = unsafe { sys::mprotect(piece.base, piece.mapped, piece.prot) };
        return put;
    }
    unmap_tail(&(piece.known().end..piece.mapped().end))?;
    mlocked::restore_all(&piece.known());
    // From now on the kernel knows.
    mlocked::cut(&piece.known());
    Ok(())
}

/// Maps the part of what is mapped at `aside` where the piece is, too, with the access that
/// the program gave the piece.
fn put_over(piece: &Region, aside: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: ours; the other mapping takes its access from this one.
    unsafe { sys::mprotect(aside, piece.len, piece.prot)? };
    // A length of 0 leaves the mapping there, as it is shared.
    // SAFETY: what is there now has the same contents.
    unsafe { sys::mremap(aside, 0, piece.mapped, flags, piece.base) }.map(drop)
}

/// Unmaps what lies behind the end that the program knows.
fn unmap_tail(tail: &Range<usize>) -> Result<()> {
    match tail.is_empty() {
        true => Ok(()),
        // SAFETY: the program does not know of it.
        false => unsafe { sys::munmap(tail.start, tail.len()) },
    }
}
