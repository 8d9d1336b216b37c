//! Replaces part of a segment by a mapping of a hugetlb memfd, filled first. If a step
//! fails, the program's memory is unchanged.
#![expect(unsafe_code, reason = "replaces parts of the program")]

use core::ffi::c_int;
use core::ops::Range;

use super::reason::Reason;
use crate::kernel::{hugetlb_pool, populate};
use crate::migrate::staging::fill;
use crate::policy::quota;
use crate::sys::{self, Errno, Result};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Maps a hugetlb memfd, filled by `write`, over the start of a range, as far as quota and pool
/// provide pages; returns the bytes replaced.
///
/// # Safety
/// `write` gets offset, address and length, and must copy that part of the range. Nobody may
/// write to the range.
pub unsafe fn replace_by_file(
    range: &Range<usize>,
    size: usize,
    prot: c_int,
    write: impl FnMut(usize, usize, usize),
) -> core::result::Result<usize, Reason> {
    let taken = quota::take(size, range.len());
    if taken == 0 {
        return Err(Reason::POOL_EMPTY);
    }
    let range = range.start..range.start + taken;
    // SAFETY: upheld by the caller.
    let done = unsafe { map_file(&range, size, prot, write) };
    quota::give(size, taken - *done.as_ref().unwrap_or(&0));
    done
}

/// # Safety
/// As for [`replace_by_file`].
unsafe fn map_file(
    range: &Range<usize>,
    size: usize,
    prot: c_int,
    mut write: impl FnMut(usize, usize, usize),
) -> core::result::Result<usize, Reason> {
    let no_page = |_| Reason::POOL_EMPTY;
    let file = hugetlb_pool::file(c"hugetlbfs-text", size).map_err(|error| match error {
        Errno(libc::EPERM) => Reason::MemfdRejected,
        _ => Reason::POOL_EMPTY,
    })?;
    file.set_len(range.len()).map_err(no_page)?;
    let view = View::of(&file, range.len()).map_err(no_page)?;
    let filled = view.fill(size, |offset, len| write(offset, view.addr + offset, len));
    if filled == 0 {
        return Err(Reason::POOL_EMPTY);
    }
    drop(view);
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: upheld by the caller; the file has the same contents.
    let mapped = unsafe { sys::mmap(range.start, filled, prot, flags, file.fd(), 0) };
    mapped.map_err(Reason::of_access)?;
    populate::for_reading(range.start, filled, size);
    Ok(filled)
}

/// A writable mapping of a file.
pub(super) struct View {
    /// Its address.
    pub(super) addr: usize,
    len: usize,
}

impl View {
    pub(super) fn of(file: &sys::File, len: usize) -> Result<View> {
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping replaces nothing.
        let addr = unsafe { sys::mmap(0, len, READ_WRITE, flags, file.fd(), 0)? };
        Ok(View { addr, len })
    }

    /// Populates its pages in order and calls `write` with offset and length of each; returns
    /// the bytes populated.
    pub(super) fn fill(&self, size: usize, write: impl FnMut(usize, usize)) -> usize {
        // SAFETY: a new file, which is zero.
        unsafe { fill(self.addr, self.len, size, write) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody uses it.
        let _ = unsafe { sys::munmap(self.addr, self.len) };
    }
}
