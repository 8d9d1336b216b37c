//! Turns shared memory on hugetlb pages into ordinary shared memory, while only this process maps
//! it and has one thread.
#![expect(unsafe_code, reason = "replaces the program's memory")]

use core::ops::Range;

use super::map_shared::advise;
use crate::extent::mlocked;
use crate::kernel::facts;
use crate::policy::fresh_copy;
use crate::registry::region::{Backing, Region};
use crate::registry::shared::LockedTable;
use crate::sys::{self, Result};

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Bytes of free memory to leave for other uses.
const MARGIN: usize = 64 << 20;

/// Whether a region can become ordinary memory. A System V segment can't: any process may attach it
/// by its ID.
pub(super) fn can_step_down(region: &Region) -> bool {
    let is_unshared = region.backing == Backing::Anonymous && !region.creation.may_be_inherited();
    is_unshared && !facts::has_threads() && has_room(region.origin_len)
}

/// Whether there is memory for a copy; `false` if unknown.
fn has_room(len: usize) -> bool {
    facts::room().is_some_and(|room| room >= len.saturating_add(MARGIN))
}

/// Turns all pieces of a mapping into ordinary memory and removes their entries. After an error the
/// remaining entries stay valid.
pub(super) fn step_down(table: &mut LockedTable, region: Region) -> Result<()> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let map = |flags| unsafe { sys::mmap(0, region.origin_len, READ_WRITE, flags, -1, 0) };
    let copy = map(flags).or_else(|_| map(flags | libc::MAP_NORESERVE))?;
    advise(copy, region.origin_len);
    let mut result = Ok(());
    while let Some(piece) = table.find(|piece| piece.origin == region.origin) {
        result = replace_piece(&piece, copy + piece.offset);
        if result.is_err() {
            break;
        }
        table.update(piece.base, None);
    }
    // SAFETY: the pieces are mappings of their own by now.
    unsafe { sys::munmap(copy, region.origin_len)? };
    result
}

/// Replaces a piece by the part of the new object at `copy`.
fn replace_piece(piece: &Region, copy: usize) -> Result<()> {
    // SAFETY: the piece is ours to change, and no other process shares it.
    unsafe { sys::mprotect(piece.base, piece.mapped, piece.prot | libc::PROT_READ)? };
    // SAFETY: two mappings of this length; nobody writes to the first.
    unsafe { fresh_copy::copy(piece.base, copy, piece.len) };
    let mapped = map_over(piece, copy);
    if mapped.is_err() {
        // SAFETY: the access that the program gave it.
        let _ = unsafe { sys::mprotect(piece.base, piece.mapped, piece.prot) };
        return mapped;
    }
    unmap_tail(&(piece.program_range().end..piece.mapped().end))?;
    mlocked::restore(&piece.program_range());
    Ok(())
}

/// Maps the part at `copy` over the piece, with the piece's protection.
fn map_over(piece: &Region, copy: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: ours; the new mapping inherits this access.
    unsafe { sys::mprotect(copy, piece.len, piece.prot)? };
    // For shared memory an old length of 0 duplicates the mapping.
    // SAFETY: the contents are the same.
    unsafe { sys::mremap(copy, 0, piece.mapped, flags, piece.base) }.map(drop)
}

/// Unmaps the padding behind the program's length.
fn unmap_tail(tail: &Range<usize>) -> Result<()> {
    match tail.is_empty() {
        true => Ok(()),
        // SAFETY: the program doesn't know it.
        false => unsafe { sys::munmap(tail.start, tail.len()) },
    }
}
