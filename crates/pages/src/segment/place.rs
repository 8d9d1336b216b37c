//! Putting other memory in the place of a part of a segment: prepared aside,
//! then moved over it in one system call. A step that fails has changed
//! nothing for the program.
#![expect(unsafe_code, reason = "replaces parts of the program")]

use core::ffi::{CStr, c_int};
use core::ops::Range;

use super::why::Why;
use crate::sys::{self, Errno, Result};
use crate::{facts, hugetlb, populate, quota, space, thp};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Memory that is prepared aside; given back when dropped.
#[derive(Debug)]
pub struct Aside {
    /// Where it is now.
    pub addr: usize,
    len: usize,
    /// The size of its pages, where they are of a pool.
    pool: Option<usize>,
}

impl Aside {
    /// Ordinary memory, writable, advised to be on transparent huge pages.
    ///
    /// # Errors
    /// When there is no address space or no memory.
    pub fn ordinary(len: usize) -> Result<Aside> {
        let addr = space::reserve_elsewhere(len, facts::thp_size())?;
        let pool = None;
        let aside = Aside { addr, len, pool };
        // SAFETY: reserved just now.
        unsafe { sys::mprotect(addr, len, READ_WRITE)? };
        // SAFETY: likewise.
        unsafe { thp::advise(addr, len) };
        Ok(aside)
    }

    /// Whether all of it is on transparent huge pages: it is from now on.
    ///
    /// # Errors
    /// As [`thp::have`].
    pub fn have(&self) -> Result<()> {
        // SAFETY: ours, and used by nobody.
        unsafe { thp::have(self.addr, self.len) }
    }

    /// For a part of the heap: as [`Aside::from_pool`], where a heap is known.
    ///
    /// # Errors
    /// When none can be had.
    pub fn for_heap(len: usize, size: usize) -> Result<Aside> {
        Aside::at(space::reserve(len, size)?, len, size)
    }

    /// Private pages of a pool, as many of the range as can be had and this
    /// process may have, from its beginning.
    ///
    /// # Errors
    /// When none can be had.
    pub fn from_pool(len: usize, size: usize) -> Result<Aside> {
        // Whoever looks meanwhile sees no heap.
        Aside::at(space::reserve_elsewhere(len, size)?, len, size)
    }

    /// Pages of a pool in address space that was reserved just now.
    fn at(addr: usize, len: usize, size: usize) -> Result<Aside> {
        let pool = Some(size);
        let mut aside = Aside { addr, len, pool };
        aside.unmap_behind(quota::take(size, len));
        let len = aside.len;
        if len == 0 {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: reserved just now.
        unsafe { hugetlb::map_private_over(addr, len, size)? };
        // SAFETY: mapped just now, and zero.
        let filled = unsafe { fill(addr, len, size) };
        if filled == 0 {
            return Err(Errno(libc::ENOMEM));
        }
        quota::give(size, len - filled);
        aside.unmap_behind(filled);
        Ok(aside)
    }

    /// How much there is.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Unmaps what is behind the first `len` bytes.
    fn unmap_behind(&mut self, len: usize) {
        if len < self.len {
            // SAFETY: ours, and used by nobody.
            let _ = unsafe { sys::munmap(self.addr + len, self.len - len) };
            self.len = len;
        }
    }

    /// Gives it the access that the program had.
    ///
    /// # Errors
    /// When the system does not allow it, as for code in memory that was
    /// written.
    pub fn protect(&self, prot: c_int) -> Result<()> {
        // SAFETY: ours, and used by nobody.
        unsafe { sys::mprotect(self.addr, self.len, prot) }
    }

    /// Names it in `/proc/<pid>/maps`, where the kernel can.
    pub fn name(&self, name: &CStr) {
        sys::name_memory(self.addr, self.len, name);
    }

    /// Moves it to other free address space, to see whether the kernel can: an
    /// `mremap` that fails may have unmapped what it was to replace. Only while
    /// no other thread runs.
    ///
    /// # Errors
    /// When the kernel cannot; before Linux 5.16 for hugetlb memory.
    pub fn try_to_move(&mut self, align: usize) -> Result<()> {
        let other = space::reserve(self.len, align)?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: both are ours, and used by nobody.
        match unsafe { sys::mremap(self.addr, self.len, self.len, flags, other) } {
            Ok(_) => self.addr = other,
            Err(error) => {
                // SAFETY: reserved above. Where it is unmapped already nothing
                // has taken its place, since no other thread runs.
                let _ = unsafe { sys::munmap(other, self.len) };
                return Err(error);
            }
        }
        Ok(())
    }

    /// Moves it in the place of the program's memory at `addr`.
    ///
    /// # Errors
    /// When the kernel cannot.
    ///
    /// # Safety
    /// It must hold what is there, and nobody may write there meanwhile.
    pub unsafe fn replace(mut self, addr: usize) -> Result<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: as the caller says.
        unsafe { sys::mremap(self.addr, self.len, self.len, flags, addr)? };
        self.len = 0;
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.len > 0 {
            self.pool.inspect(|size| quota::give(*size, self.len));
            // SAFETY: ours, and used by nobody.
            let _ = unsafe { sys::munmap(self.addr, self.len) };
        }
    }
}

/// Makes pages present from the beginning on; how many bytes.
///
/// # Safety
/// As for [`populate::populate`].
unsafe fn fill(addr: usize, len: usize, size: usize) -> usize {
    // SAFETY: as the caller says.
    if unsafe { populate::populate(addr, len, size) }.is_ok() {
        return len;
    }
    // What was filled so far stays, so this is quick.
    // SAFETY: as the caller says.
    let page = |at: &usize| unsafe { populate::populate(addr + at, size, size) }.is_ok();
    let offsets = (0..len).step_by(size);
    offsets.take_while(page).count() * size
}

/// Pages of a pool in a file without a name, filled by `write` and then mapped
/// in the place of the program's memory. From the beginning of the range on, as
/// many as can be had; how many bytes.
///
/// # Errors
/// When none can be had, or the file may not be mapped with this access.
///
/// # Safety
/// `write`, which is given an address and a length, must write there what is in
/// the beginning of the range. Nobody may write to the range.
pub unsafe fn replace_by_file(
    range: &Range<usize>,
    size: usize,
    prot: c_int,
    name: &CStr,
    write: impl FnOnce(usize, usize),
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
    write: impl FnOnce(usize, usize),
) -> core::result::Result<usize, Why> {
    let no_page = |_| Why::PoolEmpty;
    let file = hugetlb::file(name, size).map_err(no_page)?;
    file.set_len(range.len()).map_err(no_page)?;
    let view = View::of(&file, range.len()).map_err(no_page)?;
    let filled = view.fill(size);
    if filled == 0 {
        return Err(Why::PoolEmpty);
    }
    write(view.addr, filled);
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

    /// Makes its pages, of this size, present from the beginning on; how many
    /// bytes.
    pub(super) fn fill(&self, size: usize) -> usize {
        // SAFETY: a new file, which is zero.
        unsafe { fill(self.addr, self.len, size) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: ours, and used by nobody.
        let _ = unsafe { sys::munmap(self.addr, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_contract::segment::HEAP_AREA;

    #[test]
    fn a_copy_that_is_being_made_is_no_heap() {
        let copy = Aside::ordinary(4 << 20).unwrap();
        assert!(!HEAP_AREA.contains(&(copy.addr as u64)));
        assert_eq!(copy.addr % facts::thp_size(), 0);
    }
}
