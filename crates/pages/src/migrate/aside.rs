//! Memory that is prepared aside, then moved over what it is to replace in one system
//! call. A step that fails has changed nothing for the program.
#![expect(unsafe_code, reason = "maps memory and moves it by address")]

use core::ffi::{CStr, c_int};

use crate::extent::address_space;
use crate::extent::unit::State;
use crate::kernel::{facts, hugetlb_pool, populate};
use crate::policy::{quota, thp};
use crate::sys::{self, Errno, Result};

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
    /// Ordinary memory, writable, advised to be on transparent huge pages; nothing where
    /// this process gets none for so much, as in a control group that has little left.
    ///
    /// # Errors
    /// When there is no address space or no memory.
    pub fn ordinary(len: usize) -> Result<Option<Aside>> {
        let addr = address_space::reserve_elsewhere(len, facts::thp_size())?;
        let pool = None;
        let aside = Aside { addr, len, pool };
        // SAFETY: reserved just now.
        unsafe { sys::mprotect(addr, len, READ_WRITE)? };
        // SAFETY: likewise.
        let state = unsafe { thp::advise(addr, len) };
        Ok((state == State::Thp).then_some(aside))
    }

    /// Whether all of it is on transparent huge pages: it is from now on.
    ///
    /// # Errors
    /// As [`thp::have`].
    pub fn have(&self) -> Result<()> {
        // SAFETY: ours, and used by nobody.
        unsafe { thp::have(self.addr, self.len) }
    }

    /// Private pages of a pool, of which the first is there; for the others, as many as
    /// this process may have: [`Aside::fill`].
    ///
    /// # Errors
    /// When none can be had.
    pub fn from_pool(len: usize, size: usize) -> Result<Aside> {
        // Whoever looks meanwhile sees no heap.
        Aside::at(address_space::reserve_elsewhere(len, size)?, len, size)
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
        unsafe { hugetlb_pool::map_private_over(addr, len, size)? };
        // SAFETY: mapped just now, and zero.
        unsafe { populate::populate(addr, size, size)? };
        Ok(aside)
    }

    /// Fills it page by page, each as soon as it is there, while the processor's caches
    /// still have it: `write` is given how far in a page begins, where that is, and its
    /// length. What cannot be had is unmapped; how much there is then.
    pub fn fill(&mut self, mut write: impl FnMut(usize, usize, usize)) -> usize {
        let Aside { addr, len, pool } = *self;
        let write = |at, len| write(at, addr + at, len);
        let Some(size) = pool else {
            // SAFETY: ours, and zero.
            unsafe { fill_ordinary(addr, len, write) };
            return len;
        };
        // SAFETY: likewise.
        let filled = unsafe { fill(addr, len, size, write) };
        quota::give(size, len - filled);
        self.unmap_behind(filled);
        filled
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
        let other = address_space::reserve(self.len, align)?;
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

/// Makes pages present from the beginning on, and has each written to, given how far in
/// it begins and its length; how many bytes.
///
/// # Safety
/// As for [`populate::populate`].
pub(crate) unsafe fn fill(
    addr: usize,
    len: usize,
    size: usize,
    mut write: impl FnMut(usize, usize),
) -> usize {
    // SAFETY: as the caller says.
    let page = |at: &usize| unsafe { populate::populate(addr + at, size, size) }.is_ok();
    let offsets = (0..len).step_by(size);
    let written = |at| write(at, size);
    offsets.take_while(page).map(written).count() * size
}

/// The same with transparent huge pages, where they can be had, and base pages for what
/// is written elsewhere.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_ordinary(addr: usize, len: usize, mut write: impl FnMut(usize, usize)) {
    let (size, page) = (facts::thp_size(), sys::page_size());
    for at in (0..len).step_by(size) {
        let part = size.min(len - at);
        // SAFETY: as the caller says; the last bytes, for which it is made forwards.
        let _ = unsafe { populate::populate(addr + at + part - page, page, page) };
        write(at, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_contract::segment::HEAP_AREA;

    #[test]
    fn a_copy_that_is_being_made_is_no_heap() {
        let copy = Aside::ordinary(4 << 20).unwrap().unwrap();
        assert!(!HEAP_AREA.contains(&(copy.addr as u64)));
        assert_eq!(copy.addr % facts::thp_size(), 0);
    }
}
