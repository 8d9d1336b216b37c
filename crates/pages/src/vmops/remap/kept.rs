//! `mremap` of blocks of the heap that leaves the old place there (`MREMAP_DONTUNMAP`).
//!
//! Where huge pages of a pool were, the kernel has a block in parts that it does not join,
//! and refuses to move several (`EFAULT`); plainly the block is one. So the parts are moved
//! one by one, if the program has treated all of them alike: each is one step, what lies in
//! others meanwhile stays there. What fails leaves all where it was.
#![expect(unsafe_code, reason = "moves the program's mappings for it")]

use core::ops::Range;

use hugetools_kernfs::smaps;

use super::call::{Call, MREMAP_DONTUNMAP};
use crate::extent::{address_space, index};
use crate::kernel::procfile;
use crate::rt::fork_gate::GATE;
use crate::sys::{self, Errno, Result};

/// Does the call for memory of the heap that has become ordinary. `None` for other calls,
/// and other memory.
pub(super) fn mremap(call: &Call, old: &Range<usize>) -> Option<Result<usize>> {
    let keeps = call.flags & MREMAP_DONTUNMAP != 0 && call.old_len == call.new_len;
    if !keeps || !is_heap(old) {
        return None;
    }
    // SAFETY: what the program asked for.
    let whole = unsafe { call.pass_on() };
    if whole != Err(Errno(libc::EFAULT)) {
        return Some(whole);
    }
    let _pass = GATE.pass();
    let moved = procfile::look(|| {
        let first = part_at(old.start, old)?;
        let parts = Parts { old, first };
        parts.are_alike().then(|| parts.mremap(call))
    });
    Some(moved.unwrap_or(whole))
}

fn is_heap(range: &Range<usize>) -> bool {
    let extent = index::look(|| index::extent_at(range.start).map(|it| it.base + it.len));
    extent.is_some_and(|end| !range.is_empty() && range.end <= end)
}

/// What the kernel has as one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    range: Range<usize>,
    /// What may be done there: read, written, executed.
    access: [bool; 3],
}

/// The part at an address, as far as it lies in a range; `None` where there is none, or it
/// is no private memory.
fn part_at(at: usize, within: &Range<usize>) -> Option<Part> {
    let of_line = |line: &[u8]| {
        let record = smaps::records(line).next()?;
        let start = usize::try_from(record.start).ok()?.max(at);
        let end = usize::try_from(record.end).ok()?.min(within.end);
        let is_meant = start == at && at < end && !record.shared && record.inode == 0;
        is_meant.then_some(Part {
            range: start..end,
            access: [record.accessible, record.writable, record.executable],
        })
    };
    procfile::each_line(c"/proc/self/maps", of_line)
}

/// A range that consists of parts.
struct Parts<'a> {
    old: &'a Range<usize>,
    first: Part,
}

impl Parts<'_> {
    fn next(&self, at: usize) -> Option<Part> {
        part_at(at, self.old).filter(|part| part.access == self.first.access)
    }

    /// Whether they fill the range, and nothing tells one from the other.
    fn are_alike(&self) -> bool {
        let mut at = self.old.start;
        while at < self.old.end {
            let Some(part) = self.next(at) else {
                return false;
            };
            at = part.range.end;
        }
        true
    }

    fn mremap(&self, call: &Call) -> Result<usize> {
        let to = match call.is_fixed() {
            true => call.new_addr,
            false => place(call.new_addr, self.old.len())?,
        };
        let mut at = self.old.start;
        while at < self.old.end {
            let moved = match self.next(at) {
                Some(part) => move_to(&part.range, to + (at - self.old.start), MREMAP_DONTUNMAP)
                    .map(|()| part.range.end),
                None => Err(Errno(libc::EFAULT)),
            };
            match moved {
                Ok(end) => at = end,
                Err(error) => {
                    self.put_back(at, to);
                    if !call.is_fixed() {
                        address_space::release(to, self.old.len());
                    }
                    return Err(error);
                }
            }
        }
        Ok(to)
    }

    /// Moves what lies before `end`, and is at `to` by now, to where it was.
    fn put_back(&self, end: usize, to: usize) {
        let away = to..to + (end - self.old.start);
        let mut at = away.start;
        while let Some(part) = part_at(at, &away) {
            let home = self.old.start + (at - to);
            if move_to(&part.range, home, 0).is_err() {
                return;
            }
            at = part.range.end;
        }
    }
}

/// Where nothing lies, if possible where the program would have it.
fn place(hint: usize, len: usize) -> Result<usize> {
    let page = sys::page_size();
    let hint = hint / page * page;
    match hint > 0 && address_space::reserve_at(hint, len).is_ok() {
        true => Ok(hint),
        false => address_space::reserve_elsewhere(len, page),
    }
}

fn move_to(part: &Range<usize>, to: usize, keep: i32) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | keep;
    // SAFETY: the program's mapping, to where it wants it or where nothing is.
    unsafe { sys::mremap(part.start, part.len(), part.len(), flags, to) }.map(drop)
}
