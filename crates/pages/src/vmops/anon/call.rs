//! The arguments of `mmap`, and which calls concern us.
#![expect(unsafe_code, reason = "advises mappings by address")]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_contract::env::Fallback;
use hugetools_contract::segment::Segment;

use crate::config;
use crate::kernel::facts;
use crate::policy::required::ANON;
use crate::policy::unmet;
use crate::sys::{self, Filter};
use crate::vmops::range::range_of;

/// The arguments of `mmap`.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Address; 0 for any.
    pub addr: usize,
    /// Length.
    pub len: usize,
    /// `PROT_READ` and so on.
    pub prot: c_int,
    /// `MAP_PRIVATE` and so on.
    pub flags: c_int,
}

/// Flags of mappings to skip: hugetlb, and stacks, which use only their first pages.
const SKIPPED: c_int = libc::MAP_HUGETLB | libc::MAP_GROWSDOWN | libc::MAP_STACK;

/// Whether private mappings are to get huge pages.
pub fn is_enabled() -> bool {
    let config = config::get();
    config.anon.is_some() && config.fallback != Fallback::Base
}

/// Like [`is_enabled`], but `false` under the program's own seccomp filter.
pub(super) fn is_active() -> bool {
    is_enabled() && sys::filter() != Filter::Own
}

impl Call {
    /// Whether this is a private mapping that is to get huge pages.
    #[inline]
    pub fn is_eligible(&self) -> bool {
        is_enabled() && self.is_private_memory() && self.is_allowed()
    }

    /// `false` under the program's own seccomp filter. That forbids even messages, so an unmet
    /// requirement is noted for the report.
    fn is_allowed(&self) -> bool {
        let is_allowed = is_active();
        if !is_allowed && self.is_writable() && self.len >= large() && ANON.share().is_some() {
            unmet::note(Segment::Anon);
        }
        is_allowed
    }

    pub(super) fn is_private_memory(&self) -> bool {
        self.flags & libc::MAP_TYPE == libc::MAP_PRIVATE
            && self.flags & libc::MAP_ANONYMOUS != 0
            && self.flags & SKIPPED == 0
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.flags & libc::MAP_FIXED != 0
    }

    /// Whether the mapping fails rather than get another address.
    pub(super) fn requires_addr(&self) -> bool {
        self.flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0
    }

    pub(super) fn is_writable(&self) -> bool {
        self.prot & libc::PROT_WRITE != 0
    }

    /// Whether we populate the mapping after the advice, instead of `MAP_POPULATE`. Read-only
    /// mappings, and mappings with `MAP_NONBLOCK` or `MAP_LOCKED`, are left to the kernel.
    pub(super) fn wants_populate(&self) -> bool {
        let populate = self.flags & (libc::MAP_POPULATE | libc::MAP_NONBLOCK | libc::MAP_LOCKED);
        self.is_writable() && populate == libc::MAP_POPULATE
    }
}

/// Minimum length in bytes of a large mapping.
pub(super) fn large() -> usize {
    let configured = config::get().anon_min;
    configured.map_or_else(facts::thp_size, |len| {
        usize::try_from(len).unwrap_or(usize::MAX)
    })
}

/// Advises memory to use transparent huge pages.
pub(super) fn advise(addr: usize, len: usize) {
    // SAFETY: the advice changes no contents.
    let _ = unsafe { sys::madvise(addr, len, libc::MADV_HUGEPAGE) };
}

/// The pages of a range.
pub(super) fn range(addr: usize, len: usize) -> Option<Range<usize>> {
    range_of(addr, len, sys::page_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

    fn call(flags: c_int) -> Call {
        Call {
            addr: 0,
            len: 64 << 20,
            prot: libc::PROT_READ | libc::PROT_WRITE,
            flags: PRIVATE | flags,
        }
    }

    #[test]
    fn eligible_mappings() {
        for flags in [0, libc::MAP_NORESERVE, libc::MAP_FIXED, libc::MAP_POPULATE] {
            assert!(call(flags).is_private_memory(), "{flags:#x}");
        }
        for flags in [libc::MAP_STACK, libc::MAP_GROWSDOWN, libc::MAP_HUGETLB] {
            assert!(!call(flags).is_private_memory(), "{flags:#x}");
        }
        let of = |flags| Call { flags, ..call(0) }.is_private_memory();
        assert!(!of(libc::MAP_SHARED | libc::MAP_ANONYMOUS) && !of(libc::MAP_PRIVATE));
        assert!(!of(libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS));
        // Without --anon.
        assert!(!is_enabled() && !call(0).is_eligible());
    }
}
