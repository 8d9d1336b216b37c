//! The program's own requests for huge pages (`MAP_HUGETLB`, `SHM_HUGETLB`) in a control group
//! with a limit (`hugetlb.SIZE.max`).
//!
//! The kernel charges a page at its first touch, and raises SIGBUS beyond the limit. With `--shm`
//! or `--anon` we populate the pages at once: a request beyond the limit fails with ENOMEM, as it
//! does under `hugetlb.SIZE.rsvd.max`. Requests with `MAP_NORESERVE` are left alone.
#![expect(unsafe_code, reason = "unmaps what the group cannot cover")]

use core::ffi::c_int;

use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;

use crate::config::{self, starter_message};
use crate::kernel::cgroup::{self, Headroom};
use crate::kernel::{facts, populate};
use crate::policy::required;
use crate::rt::message::Amount;
use crate::sys::{self, Errno, Filter, Result};

/// A request in a control group with a limit.
#[derive(Debug, Clone, Copy)]
pub struct HugetlbRequest {
    /// Name of the call, for the message.
    call: &'static str,
    len: usize,
    page: usize,
    left: usize,
    is_shared: bool,
}

/// Position of the page size in the flags of `mmap` and `shmget`.
const SIZE_SHIFT: c_int = libc::MAP_HUGE_SHIFT;
const SIZE_MASK: c_int = 0x3f;

/// Makes the mapping by `map`, an `mmap` with these arguments. `ENOMEM` beyond the control group's
/// limit.
pub fn map(
    len: usize,
    prot: c_int,
    flags: c_int,
    map: impl FnOnce() -> Result<usize>,
) -> Result<usize> {
    let is_meant = flags & libc::MAP_HUGETLB != 0
        && flags & libc::MAP_ANONYMOUS != 0
        && flags & libc::MAP_NORESERVE == 0;
    let is_shared = flags & libc::MAP_PRIVATE == 0;
    let request = is_meant.then(|| HugetlbRequest::under_limit("mmap", len, flags, is_shared));
    let Some(request) = request.flatten() else {
        return map();
    };
    request.admit()?;
    let at = map()?;
    if prot & libc::PROT_WRITE != 0 && request.populate(at).is_err() {
        // SAFETY: mapped above, and nobody knows it.
        let _ = unsafe { sys::munmap(at, request.len) };
        return Err(request.refused());
    }
    Ok(at)
}

impl HugetlbRequest {
    /// Returns the request of `shmget` with these flags; `None` if no limit applies.
    pub fn of_segment(len: usize, flags: c_int) -> Option<HugetlbRequest> {
        let is_meant = flags & libc::SHM_HUGETLB != 0 && flags & libc::SHM_NORESERVE == 0;
        is_meant.then(|| HugetlbRequest::under_limit("shmget", len, flags, true))?
    }

    fn under_limit(
        call: &'static str,
        len: usize,
        flags: c_int,
        is_shared: bool,
    ) -> Option<HugetlbRequest> {
        let config = config::get();
        let is_requested = config.shm.is_some() || config.anon.is_some();
        if !is_requested || sys::filter() == Filter::Own {
            return None;
        }
        let page = match flags >> SIZE_SHIFT & SIZE_MASK {
            0 => facts::default_huge_size()?,
            bits => 1usize.checked_shl(bits.unsigned_abs())?,
        };
        let len = len.checked_next_multiple_of(page)?;
        match cgroup::hugetlb_left(page) {
            Headroom::Bytes(left) => Some(HugetlbRequest {
                call,
                len,
                page,
                left,
                is_shared,
            }),
            Headroom::NoLimit | Headroom::Hidden | Headroom::Unknown => None,
        }
    }

    /// Reports and fails a request beyond the limit (`ENOMEM`).
    pub fn admit(&self) -> Result<()> {
        match self.len <= self.left {
            true => Ok(()),
            false => Err(self.refused()),
        }
    }

    /// Populates the request, which is mapped at `at`; fails if a page is missing.
    pub fn populate(&self, at: usize) -> Result<()> {
        populate::shared(at, self.len, self.page)
    }

    /// Reports that the request fails; returns its error.
    pub fn refused(&self) -> Errno {
        let (call, page) = (self.call, SizeName(self.page));
        let (len, left) = (Amount(self.len), Amount(self.left));
        let warn = |text: core::fmt::Arguments<'_>| match self.is_shared
            && config::get().shm.is_some()
        {
            true => required::report_shm(Kind::Shm, required::shm_may_fall_back(self.len), text),
            false => starter_message::warn(Kind::Mappings, text),
        };
        warn(format_args!(
            "{call}: the program's own request for {len} of {page} pages fails (ENOMEM): the \
             hugetlb limit of its control group leaves {left}"
        ));
        Errno(libc::ENOMEM)
    }
}
