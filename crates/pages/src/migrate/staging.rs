//! Staging memory: filled at an address of its own, then moved over the program's memory by one
//! `mremap`. If a step before that fails, the program's memory is unchanged.
#![expect(unsafe_code, reason = "maps memory and moves it by address")]

use core::ffi::{CStr, c_int};

use crate::extent::address_space;
use crate::extent::unit::State;
use crate::kernel::{facts, hugetlb_pool, populate};
use crate::policy::{quota, thp};
use crate::sys::{self, Errno, Result};

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Staging memory; unmapped when dropped, unless it has replaced the program's.
#[derive(Debug)]
pub struct Staging {
    /// Its address.
    pub addr: usize,
    len: usize,
    /// Page size if it is on pool pages.
    pool: Option<usize>,
}

impl Staging {
    /// Maps writable memory off the pools, and advises transparent huge pages unless the fallback
    /// is base pages. Returns the resulting state, too.
    pub fn ordinary(len: usize, align: usize) -> Result<(Staging, State)> {
        let addr = address_space::reserve_elsewhere(len, align)?;
        let pool = None;
        let staging = Staging { addr, len, pool };
        // SAFETY: reserved above.
        unsafe { sys::mprotect(addr, len, READ_WRITE)? };
        // SAFETY: likewise.
        let state = unsafe { thp::advise(addr, len) };
        Ok((staging, state))
    }

    /// Like [`Staging::ordinary`], but `None` if it gets no transparent huge pages.
    pub fn transparent(len: usize) -> Result<Option<Staging>> {
        let (staging, state) = Staging::ordinary(len, facts::thp_size())?;
        Ok((state == State::Thp).then_some(staging))
    }

    /// Populates all of it with transparent huge pages.
    pub fn populate(&self) -> Result<()> {
        // SAFETY: ours, and nobody uses it.
        unsafe { thp::populate(self.addr, self.len) }
    }

    /// Maps private pool pages, as many as the quota allows, and populates the first.
    pub fn from_pool(len: usize, size: usize) -> Result<Staging> {
        // Not in the heap's area: reports count that area as heap.
        let addr = address_space::reserve_elsewhere(len, size)?;
        let pool = Some(size);
        let mut staging = Staging { addr, len, pool };
        staging.truncate(quota::take(size, len));
        let len = staging.len;
        if len == 0 {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: reserved above.
        unsafe { hugetlb_pool::map_private_over(addr, len, size)? };
        // SAFETY: mapped above, and zero.
        unsafe { populate::populate(addr, size, size)? };
        Ok(staging)
    }

    /// Populates each page and fills it while the CPU cache holds it. `write` gets offset, address
    /// and length. At the first page that can't be populated, unmaps the rest. Returns the length
    /// filled.
    pub fn fill(&mut self, mut write: impl FnMut(usize, usize, usize)) -> usize {
        let Staging { addr, len, pool } = *self;
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

    fn truncate(&mut self, len: usize) {
        if len < self.len {
            // SAFETY: ours, and nobody uses it.
            let _ = unsafe { sys::munmap(self.addr + len, self.len - len) };
            self.len = len;
        }
    }

    /// Sets the protection of the memory that it is to replace.
    ///
    /// # Errors
    /// If a security policy forbids it, such as execution of written memory.
    pub fn protect(&self, prot: c_int) -> Result<()> {
        // SAFETY: ours, and nobody uses it.
        unsafe { sys::mprotect(self.addr, self.len, prot) }
    }

    /// Names it in `/proc/PID/maps`.
    pub fn name(&self, name: &CStr) {
        sys::name_memory(self.addr, self.len, name);
    }

    /// Moves it to free address space, to learn whether [`Staging::replace`] will work: a failed
    /// `mremap` may unmap its target. Call it only while no other thread runs.
    ///
    /// # Errors
    /// If the kernel can't; before Linux 5.16 for hugetlb memory.
    pub fn try_to_move(&mut self, align: usize) -> Result<()> {
        let other = address_space::reserve(self.len, align)?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: both are ours, and nobody uses them.
        let moved = unsafe { sys::mremap(self.addr, self.len, self.len, flags, other) };
        self.addr = moved.inspect_err(|_| {
            // SAFETY: reserved above, or unmapped already; no other thread could map there.
            let _ = unsafe { sys::munmap(other, self.len) };
        })?;
        Ok(())
    }

    /// Moves it over the program's memory at `addr`.
    ///
    /// # Safety
    /// It must hold the same contents, and nobody may write there meanwhile.
    pub unsafe fn replace(mut self, addr: usize) -> Result<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: upheld by the caller.
        unsafe { sys::mremap(self.addr, self.len, self.len, flags, addr)? };
        self.len = 0;
        Ok(())
    }
}

impl Drop for Staging {
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
    // SAFETY: upheld by the caller.
    let page = |at: &usize| unsafe { populate::populate(addr + at, size, size) }.is_ok();
    let offsets = (0..len).step_by(size);
    let written = |at| write(at, size);
    offsets.take_while(page).map(written).count() * size
}

/// Fills ordinary memory. A huge page is tried first; otherwise `write` faults in base pages.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_ordinary(addr: usize, len: usize, mut write: impl FnMut(usize, usize)) {
    let (size, page) = (facts::thp_size(), sys::page_size());
    for at in (0..len).step_by(size) {
        let part = size.min(len - at);
        // SAFETY: upheld by the caller. The last bytes are touched first: the kernel then clears
        // the page forwards, which is faster.
        let _ = unsafe { populate::populate(addr + at + part - page, page, page) };
        write(at, part);
    }
}
