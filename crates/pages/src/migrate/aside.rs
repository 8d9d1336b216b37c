//! Prepares memory aside, then moves it over what it replaces in one system call. A step that
//! fails changes nothing for the program.
#![expect(unsafe_code, reason = "maps memory and moves it by address")]

use core::ffi::{CStr, c_int};

use crate::extent::address_space;
use crate::extent::unit::State;
use crate::kernel::{facts, hugetlb_pool, populate};
use crate::policy::{quota, thp};
use crate::sys::{self, Errno, Result};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Memory being prepared; unmapped when dropped.
#[derive(Debug)]
pub struct Aside {
    /// Its address.
    pub addr: usize,
    len: usize,
    /// Its page size if it uses a pool.
    pool: Option<usize>,
}

impl Aside {
    /// Writable ordinary memory, advised for the fallback; returns its state, too.
    ///
    /// # Errors
    /// If there is no address space or no memory.
    pub fn ordinary(len: usize, align: usize) -> Result<(Aside, State)> {
        let addr = address_space::reserve_elsewhere(len, align)?;
        let pool = None;
        let aside = Aside { addr, len, pool };
        // SAFETY: reserved above.
        unsafe { sys::mprotect(addr, len, READ_WRITE)? };
        // SAFETY: likewise.
        let state = unsafe { thp::advise(addr, len) };
        Ok((aside, state))
    }

    /// Like [`Aside::ordinary`], but `None` if it gets no transparent huge pages.
    ///
    /// # Errors
    /// If there is no address space or no memory.
    pub fn transparent(len: usize) -> Result<Option<Aside>> {
        let (aside, state) = Aside::ordinary(len, facts::thp_size())?;
        Ok((state == State::Thp).then_some(aside))
    }

    /// Populates all of it with transparent huge pages.
    ///
    /// # Errors
    /// As [`thp::have`].
    pub fn have(&self) -> Result<()> {
        // SAFETY: ours, and nobody uses it.
        unsafe { thp::have(self.addr, self.len) }
    }

    /// Private pages of a pool, as many as the quota allows; the first is populated.
    ///
    /// # Errors
    /// If there is no page.
    pub fn from_pool(len: usize, size: usize) -> Result<Aside> {
        // Not in the heap's area: reports count that area as heap.
        let addr = address_space::reserve_elsewhere(len, size)?;
        let pool = Some(size);
        let mut aside = Aside { addr, len, pool };
        aside.truncate(quota::take(size, len));
        let len = aside.len;
        if len == 0 {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: reserved above.
        unsafe { hugetlb_pool::map_private_over(addr, len, size)? };
        // SAFETY: mapped above, and zero.
        unsafe { populate::populate(addr, size, size)? };
        Ok(aside)
    }

    /// Populates and fills it page by page, while the CPU cache holds the page. `write` gets
    /// offset, address and length. Pages that can't be populated are unmapped; returns the
    /// length filled.
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
        self.truncate(filled);
        filled
    }

    /// Unmaps what follows the first `len` bytes.
    fn truncate(&mut self, len: usize) {
        if len < self.len {
            // SAFETY: ours, and nobody uses it.
            let _ = unsafe { sys::munmap(self.addr + len, self.len - len) };
            self.len = len;
        }
    }

    /// Gives it the program's access.
    ///
    /// # Errors
    /// If the system forbids it, such as execution of written memory.
    pub fn protect(&self, prot: c_int) -> Result<()> {
        // SAFETY: ours, and nobody uses it.
        unsafe { sys::mprotect(self.addr, self.len, prot) }
    }

    /// Names it in `/proc/PID/maps`.
    pub fn name(&self, name: &CStr) {
        sys::name_memory(self.addr, self.len, name);
    }

    /// Tries a move to free address space, since a failed `mremap` may unmap its target. Only
    /// while no other thread runs.
    ///
    /// # Errors
    /// If the kernel can't; before Linux 5.16 for hugetlb memory.
    pub fn try_to_move(&mut self, align: usize) -> Result<()> {
        let other = address_space::reserve(self.len, align)?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: both are ours, and nobody uses them.
        match unsafe { sys::mremap(self.addr, self.len, self.len, flags, other) } {
            Ok(_) => self.addr = other,
            Err(error) => {
                // SAFETY: reserved above. If it is unmapped already, nothing has taken its
                // place, since no other thread runs.
                let _ = unsafe { sys::munmap(other, self.len) };
                return Err(error);
            }
        }
        Ok(())
    }

    /// Moves it over the program's memory at `addr`.
    ///
    /// # Errors
    /// If the kernel can't.
    ///
    /// # Safety
    /// It must hold the same contents, and nobody may write there meanwhile.
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
            // SAFETY: ours, and nobody uses it.
            let _ = unsafe { sys::munmap(self.addr, self.len) };
        }
    }
}

/// Populates pages in order, and calls `write` with offset and length of each; returns the
/// bytes populated.
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

/// Fills ordinary memory; `write` populates what has no huge page.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_ordinary(addr: usize, len: usize, mut write: impl FnMut(usize, usize)) {
    let (size, page) = (facts::thp_size(), sys::page_size());
    for at in (0..len).step_by(size) {
        let part = size.min(len - at);
        // SAFETY: as the caller says. The last bytes are touched first: the kernel then clears
        // the page forwards, which is faster.
        let _ = unsafe { populate::populate(addr + at + part - page, page, page) };
        write(at, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_contract::segment::HEAP_AREA;

    #[test]
    fn a_copy_lies_outside_of_the_heap_area() {
        let copy = Aside::transparent(4 << 20).unwrap().unwrap();
        assert!(!HEAP_AREA.contains(&(copy.addr as u64)));
        assert_eq!(copy.addr % facts::thp_size(), 0);
    }
}
