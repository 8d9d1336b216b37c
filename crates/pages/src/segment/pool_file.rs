//! Putting pages of a pool in the place of a part of a segment, by a file without a
//! name: filled aside, then mapped over the part in one system call. A step that fails
//! has changed nothing for the program.
#![expect(unsafe_code, reason = "replaces parts of the program")]

use core::ffi::{CStr, c_int};
use core::ops::Range;

use super::why::Why;
use crate::kernel::{hugetlb_pool, populate};
use crate::migrate::aside::fill;
use crate::policy::quota;
use crate::sys::{self, Errno, Result};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Pages of a pool in a file without a name, filled by `write` and then mapped
/// in the place of the program's memory. From the beginning of the range on, as
/// many as can be had; how many bytes.
///
/// # Errors
/// When none can be had, or the file may not be mapped with this access.
///
/// # Safety
/// `write`, which is given an offset into the range, an address and a length, must write
/// there what is in the range. Nobody may write to the range.
pub unsafe fn replace_by_file(
    range: &Range<usize>,
    size: usize,
    prot: c_int,
    name: &CStr,
    write: impl FnMut(usize, usize, usize),
) -> core::result::Result<usize, Why> {
    let taken = quota::take(size, range.len());
    if taken == 0 {
        return Err(Why::PoolEmpty);
    }
    let range = range.start..range.start + taken;
    // SAFETY: as the caller says.
    let done = unsafe { map_file(&range, size, prot, name, write) };
    quota::give(size, taken - *done.as_ref().unwrap_or(&0));
    done
}

/// # Safety
/// As for [`replace_by_file`].
unsafe fn map_file(
    range: &Range<usize>,
    size: usize,
    prot: c_int,
    name: &CStr,
    mut write: impl FnMut(usize, usize, usize),
) -> core::result::Result<usize, Why> {
    let no_page = |_| Why::PoolEmpty;
    let file = hugetlb_pool::file(name, size).map_err(|error| match error {
        Errno(libc::EPERM) => Why::NoFile,
        _ => Why::PoolEmpty,
    })?;
    file.set_len(range.len()).map_err(no_page)?;
    let view = View::of(&file, range.len()).map_err(no_page)?;
    let filled = view.fill(size, |offset, len| write(offset, view.addr + offset, len));
    if filled == 0 {
        return Err(Why::PoolEmpty);
    }
    drop(view);
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: as the caller says, the file holds what is there.
    let mapped = unsafe { sys::mmap(range.start, filled, prot, flags, file.fd(), 0) };
    match mapped {
        Ok(_) if prot & libc::PROT_READ != 0 => {
            populate::for_reading(range.start, filled, size);
            Ok(filled)
        }
        Ok(_) => Ok(filled),
        Err(Errno(libc::EACCES | libc::EPERM)) => Err(Why::Denied),
        Err(_) => Err(Why::NoMemory),
    }
}

/// A file, mapped to be written.
pub(super) struct View {
    /// Where it is mapped.
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

    /// Makes its pages, of this size, present from the beginning on, and has each written
    /// to, given its offset and length; how many bytes.
    pub(super) fn fill(&self, size: usize, write: impl FnMut(usize, usize)) -> usize {
        // SAFETY: a new file, which is zero.
        unsafe { fill(self.addr, self.len, size, write) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: ours, and used by nobody.
        let _ = unsafe { sys::munmap(self.addr, self.len) };
    }
}
