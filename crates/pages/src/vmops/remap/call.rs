//! The arguments of `mremap(2)`.
#![expect(unsafe_code, reason = "moves the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use crate::sys::{self, Result};
use crate::vmops::range::{overlap, pages};

const KNOWN: c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;

/// The arguments of `mremap`.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Address.
    pub addr: usize,
    /// Length; 0 duplicates a shared mapping.
    pub old_len: usize,
    /// New length.
    pub new_len: usize,
    /// `MREMAP_MAYMOVE` and so on.
    pub flags: c_int,
    /// New address, with `MREMAP_FIXED` or `MREMAP_DONTUNMAP`.
    pub new_addr: usize,
}

impl Call {
    pub(crate) fn is_fixed(&self) -> bool {
        self.flags & libc::MREMAP_FIXED != 0
    }

    /// Whether the call gives no new address and keeps nothing mapped at the old one.
    pub(crate) fn is_plain(&self) -> bool {
        self.flags & !libc::MREMAP_MAYMOVE == 0
    }

    /// The old range; `None` if the kernel rejects the flags, the lengths or a fixed target.
    pub(crate) fn old(&self) -> Option<Range<usize>> {
        let keeps_old = self.flags & libc::MREMAP_DONTUNMAP != 0;
        let is_known = self.flags & !KNOWN == 0 && self.new_len > 0;
        let has_maymove = !self.is_fixed() && !keeps_old || self.flags & libc::MREMAP_MAYMOVE != 0;
        let old = pages(self.addr, self.old_len).ok()?;
        let keeps_length = || pages(self.addr, self.new_len).is_ok_and(|new| new == old);
        let is_disjoint = || {
            let target = pages(self.new_addr, self.new_len);
            target.is_ok_and(|target| overlap(&old, &target).is_empty())
        };
        let is_valid = is_known
            && has_maymove
            && (!keeps_old || keeps_length())
            && (!self.is_fixed() || is_disjoint());
        is_valid.then_some(old)
    }

    /// # Safety
    /// As for [`sys::mremap`].
    pub(crate) unsafe fn pass_on(&self) -> Result<usize> {
        let (old_len, new_len) = (self.old_len, self.new_len);
        // SAFETY: upheld by the caller.
        unsafe { sys::mremap(self.addr, old_len, new_len, self.flags, self.new_addr) }
    }
}
