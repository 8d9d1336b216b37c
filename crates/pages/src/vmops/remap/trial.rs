//! Whether `mremap` to a fixed place will be done: tried before what lies there goes, since
//! the kernel looks before it unmaps anything (since Linux 6.17).
//!
//! What it refuses later only, plainly takes what was there away: to keep the old place
//! (`MREMAP_DONTUNMAP`) past a limit.
#![expect(unsafe_code, reason = "grows the program's mappings for a moment")]

use core::ops::Range;

use hugetools_kernfs::smaps;

use super::call::Call;
use crate::extent::address_space;
use crate::kernel::{facts, procfile};
use crate::registry;
use crate::sys::{self, Errno, Result};
use crate::vmops::range::range_of;

const EFAULT: Errno = Errno(libc::EFAULT);
const ENOMEM: Errno = Errno(libc::ENOMEM);

/// Tries it; nothing changes.
///
/// # Errors
/// The kernel's.
pub(crate) fn try_move(call: &Call) -> Result<()> {
    let page = sys::page_size();
    if call.old_len == 0 {
        return try_alias(call);
    }
    // SAFETY: neither the place nor the length changes.
    if unsafe { sys::mremap(call.addr, page, page, 0, 0) } == Err(EFAULT) {
        return Err(EFAULT);
    }
    let (Some(old), Some(new)) = (
        lengths(call.addr, call.old_len),
        lengths(call.addr, call.new_len),
    ) else {
        return Err(Errno(libc::EINVAL));
    };
    // Huge pages that were asked for by name grow by whole ones.
    if new.len() == old.len() || registry::is_named(&old) {
        return Ok(());
    }
    match new.len() > old.len() {
        true => try_growth(&old, new.len()),
        false => try_cut(&new, &old),
    }
}

fn lengths(addr: usize, len: usize) -> Option<Range<usize>> {
    range_of(addr, len, sys::page_size())
}

/// One more mapping of the same, elsewhere.
fn try_alias(call: &Call) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE;
    // SAFETY: nothing is replaced.
    let at = unsafe { sys::mremap(call.addr, 0, call.new_len, flags, 0)? };
    // SAFETY: mapped just now.
    unsafe { sys::munmap(at, call.new_len) }
}

/// Whether it is one mapping, as far as that can be told.
fn is_one(range: &Range<usize>) -> Result<()> {
    match kind_of(range) {
        Kind::One => Ok(()),
        Kind::Several | Kind::Scattered => Err(EFAULT),
    }
}

/// Where it is, as far as there is room behind it.
fn grow_there(old: &Range<usize>, len: usize) -> Result<()> {
    // SAFETY: only what is free behind it is taken.
    unsafe { sys::mremap(old.start, old.len(), len, 0, 0)? };
    // SAFETY: what was taken just now goes.
    unsafe { sys::munmap(old.end, len - old.len()) }
}

fn try_growth(old: &Range<usize>, len: usize) -> Result<()> {
    // What is taken behind it for a moment another thread may ask for by its address.
    if facts::has_threads() {
        return is_one(old).and_then(|()| try_limits(old, len - old.len()));
    }
    match grow_there(old, len) {
        // A limit, or only no room behind it.
        Err(ENOMEM) => try_limits(old, len - old.len()),
        result => result,
    }
}

/// Whether limits let a mapping grow by so many bytes.
fn try_limits(old: &Range<usize>, more: usize) -> Result<()> {
    let prot = match is_data(old.start) {
        true => libc::PROT_READ | libc::PROT_WRITE,
        false => libc::PROT_NONE,
    };
    match address_space::try_room(more, prot) {
        Err(ENOMEM) => Err(ENOMEM),
        _ => Ok(()),
    }
}

/// Whether the mapping at an address counts as data: it is private, and can be written.
fn is_data(addr: usize) -> bool {
    let of_line = |line: &[u8]| {
        let record = smaps::heads(line).next()?;
        let is_it = record.start <= addr as u64 && (addr as u64) < record.end;
        is_it.then_some(!record.shared && record.writable)
    };
    procfile::look(|| procfile::each_line(c"/proc/self/maps", of_line)).unwrap_or(false)
}

/// Whether what stays of one that is cut is one mapping: else the kernel does not move it.
fn try_cut(new: &Range<usize>, old: &Range<usize>) -> Result<()> {
    if facts::has_threads() {
        return is_one(new);
    }
    let page = sys::page_size();
    let first = new.start..new.start + page;
    // What may not grow at all is refused likewise.
    let may_grow = || first == *new || grow_there(&first, 2 * page) != Err(EFAULT);
    match grow_there(new, old.len()) == Err(EFAULT) && may_grow() {
        true => Err(EFAULT),
        false => Ok(()),
    }
}

/// What the kernel moves of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One mapping; also where it cannot be told.
    One,
    /// Several, side by side: one by one, since Linux 6.17. Where each comes to lie there may
    /// be no part of a huge page.
    Several,
    /// Some with nothing between: there stays what the target has.
    Scattered,
}

/// Which of these a range is.
pub(super) fn kind_of(range: &Range<usize>) -> Kind {
    let (mut kind, mut next) = (Kind::One, range.start as u64);
    let of_line = |line: &[u8]| {
        let record = smaps::heads(line).next()?;
        if record.end <= next {
            return None;
        }
        if record.start > next {
            return Some(Kind::Scattered);
        }
        if record.end >= range.end as u64 {
            return Some(kind);
        }
        (kind, next) = (Kind::Several, record.end);
        None
    };
    let kind = procfile::look(|| procfile::each_line(c"/proc/self/maps", of_line));
    kind.unwrap_or(Kind::One)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;

    fn map(pages: usize) -> usize {
        let (len, flags) = (
            pages * sys::page_size(),
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping.
        unsafe { sys::mmap(0, len, RW, flags, -1, 0) }.unwrap()
    }

    fn unmap(at: usize, pages: usize) {
        // SAFETY: memory of the test.
        unsafe { sys::munmap(at, pages * sys::page_size()) }.unwrap();
    }

    fn tried(addr: usize, old: usize, new: usize) -> Result<()> {
        let page = sys::page_size();
        try_move(&Call {
            addr,
            old_len: old * page,
            new_len: new * page,
            flags: libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            new_addr: 1 << 40,
        })
    }

    #[test]
    fn what_grows_or_is_cut_must_be_one() {
        let page = sys::page_size();
        let at = map(12) + 2 * page;
        unmap(at + 4 * page, 1);
        for (old, new) in [(4, 6), (4, 4), (4, 2), (6, 4), (6, 3)] {
            assert_eq!(tried(at, old, new), Ok(()), "{old} to {new}");
        }
        for (old, new) in [(5, 8), (6, 7), (8, 6), (6, 5)] {
            assert_eq!(tried(at, old, new), Err(EFAULT), "{old} to {new}");
        }
        assert_eq!(tried(at + 4 * page, 1, 1), Err(EFAULT));
        // Nothing of it stays.
        assert_eq!(tried(at + 4 * page, 1, 1), Err(EFAULT));
        unmap(at - 2 * page, 6);
        unmap(at + 5 * page, 5);
    }

    #[test]
    fn what_the_kernel_moves_one_by_one() {
        let page = sys::page_size();
        let at = map(8);
        let kind = |pages: usize| kind_of(&(at..at + pages * page));
        assert_eq!(kind(8), Kind::One);
        // SAFETY: memory of the test.
        unsafe { sys::mprotect(at + page, page, libc::PROT_READ) }.unwrap();
        assert_eq!(
            (kind(1), kind(2), kind(8)),
            (Kind::One, Kind::Several, Kind::Several)
        );
        unmap(at + 4 * page, 1);
        assert_eq!((kind(4), kind(8)), (Kind::Several, Kind::Scattered));
        unmap(at, 4);
        unmap(at + 5 * page, 3);
    }
}
