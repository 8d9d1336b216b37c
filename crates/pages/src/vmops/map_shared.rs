//! `mmap(MAP_SHARED | MAP_ANONYMOUS)` on hugetlb pages; falls back to transparent huge pages, then
//! base pages.
#![expect(unsafe_code, reason = "maps memory for the program")]

use core::ffi::c_int;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::config::{self, starter_message};
use crate::extent::page_sizes;
use crate::fork;
use crate::kernel::hugetlb_pool::{self, GrowHint};
use crate::kernel::{constraints, facts, populate};
use crate::policy::pool_backoff::{self, ShortfallCell};
use crate::policy::thp::{self, NoThp};
use crate::policy::{required, start_facts};
use crate::rt::message::Amount;
use crate::sys::{self, Errno, Filter, Result};
use hugetools_contract::env::{Fallback, Pages};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;

use crate::registry::region::Backing;
use crate::registry::shared::lock_table;

/// Why shared memory isn't on hugetlb pages.
pub static SHORTFALL: ShortfallCell = ShortfallCell::new();

const SHARED_ANONYMOUS: c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Mappings with any other flag, such as `MAP_HUGETLB`, `MAP_FIXED` or an unknown one, are left to
/// the kernel.
const HANDLED_FLAGS: c_int =
    SHARED_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE | libc::MAP_STACK;

/// Returns the page setting for an `mmap` call that the kernel would serve with shared anonymous
/// memory. `None`: the call goes to the kernel.
pub fn pages_for(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> Option<Pages> {
    let pages = config::get().shm?;
    let is_handled = flags & libc::MAP_SHARED != 0 && flags & !HANDLED_FLAGS == 0;
    let is_data = prot & libc::PROT_EXEC == 0 && prot & libc::PROT_WRITE != 0;
    // The kernel ignores an aligned offset and rejects others: leave both to it.
    let is_new = addr == 0 && len > 0 && offset == 0;
    // As in Kamailio: shared memory of /dev/zero is anonymous.
    let is_zero = || len >= facts::thp_size() && sys::is_dev_zero(fd);
    (is_handled && is_data && is_new && (flags & libc::MAP_ANONYMOUS != 0 || is_zero()))
        .then_some(pages)
}

/// Size of the huge pages for shared memory. `None` under the program's own seccomp filter, which
/// may forbid the system calls of a later step-down.
pub fn huge_size(pages: Pages) -> Option<usize> {
    let can_step_down = sys::filter() != Filter::Own;
    page_sizes::asked_size(pages).filter(|_| can_step_down)
}

/// Maps shared anonymous memory for the program.
///
/// # Errors
/// The error for huge pages if no fallback is allowed, otherwise the error for ordinary memory.
pub fn map(len: usize, prot: c_int, flags: c_int, pages: Pages) -> Result<usize> {
    start_facts::take();
    let size = huge_size(pages).filter(|size| *size <= len);
    let huge_error = match size.map(|size| map_huge(len, prot, flags, size)) {
        Some(Ok(addr)) => {
            required::SHM.count(len, false);
            return Ok(addr);
        }
        Some(Err(error)) => Some(error),
        None => required::shm_lacks_thp(pages, len).then_some(Errno(libc::ENOMEM)),
    };
    let may_fall_back = huge_error.is_none() || required::shm_may_fall_back(len);
    let result = match huge_error {
        Some(error) if !may_fall_back => Err(error),
        // SAFETY: the program's request, at no fixed address.
        _ => unsafe { sys::mmap(0, len, prot, flags, -1, 0) },
    };
    if huge_error.is_some() && (result.is_ok() || !may_fall_back) {
        match size {
            Some(size) => report_missing_pages("shared memory", len, size, may_fall_back),
            None => report_missing_thp("shared memory", len, may_fall_back),
        }
    }
    if let Ok(addr) = result {
        super::after_mapping(addr, len);
        if len >= facts::thp_size() {
            required::SHM.count(len, huge_error.is_some());
        }
        report_small("shared memory", len, pages);
        advise(addr, len);
    }
    result
}

fn map_huge(len: usize, prot: c_int, flags: c_int, size: usize) -> Result<usize> {
    let no_memory = Errno(libc::ENOMEM);
    let mapped = len.checked_next_multiple_of(size).ok_or(no_memory)?;
    let visible = len
        .checked_next_multiple_of(sys::page_size())
        .ok_or(no_memory)?;
    // Before the mapping exists: every fork that may share it must be counted.
    fork::watch();
    let base = hugetlb_pool::map_shared(mapped, prot, size)?;
    super::after_mapping(base, mapped);
    // A control group, cpuset or memory policy may refuse reserved pages at a touch (SIGBUS).
    let must_populate = flags & libc::MAP_POPULATE != 0 || constraints::may_limit(size);
    let filled = match must_populate {
        true => populate::shared(base, mapped, size),
        false => Ok(()),
    };
    let shape = (visible, mapped, size);
    if filled.is_ok() && lock_table().add(base, shape, prot, Backing::Anonymous) {
        return Ok(base);
    }
    // SAFETY: mapped above; no other code has the address.
    let _ = unsafe { sys::munmap(base, mapped) };
    Err(no_memory)
}

/// Reports that a pool has too few pages. `what` names the call or the memory.
pub fn report_missing_pages(what: &str, len: usize, size: usize, may_fall_back: bool) {
    let pages = len.div_ceil(size);
    SHORTFALL.note(pool_backoff::shortfall_of(size, pages));
    let free = hugetlb_pool::free(size);
    let needed = pages;
    required::report_shm(
        Kind::Shm,
        may_fall_back,
        format_args!(
            "{what}: no huge pages for {}: {pages} pages of {} are needed, {free}; {}{}",
            Amount(len),
            SizeName(size),
            next_rung(may_fall_back),
            GrowHint { size, needed, free },
        ),
    );
}

/// Reports that required transparent huge pages are missing.
pub fn report_missing_thp(what: &str, len: usize, may_fall_back: bool) {
    let why = thp::serves_shared().map_or_else(NoThp::reason, |()| "there are none");
    let next = next_rung(may_fall_back);
    required::report_shm(
        Kind::SharedThp,
        may_fall_back,
        format_args!("{what}: {} on base pages: {why}; {next}", Amount(len)),
    );
}

/// Reports memory that is smaller than the requested page, but could be on a transparent huge page.
pub fn report_small(what: &str, len: usize, pages: Pages) {
    if let Some(size) = huge_size(pages).filter(|size| (facts::thp_size()..*size).contains(&len)) {
        starter_message::warn(
            Kind::SmallShared,
            format_args!(
                "{what}: {} cannot be on {size} pages: it is smaller than one; {}",
                Amount(len),
                advised_rung(config::get().fallback),
                size = SizeName(size),
            ),
        );
    }
}

/// Formats the fallback from hugetlb pages.
pub fn next_rung(may_fall_back: bool) -> NextRung {
    match config::get().fallback {
        _ if !may_fall_back => NextRung("the request fails", None),
        Fallback::None => NextRung("the request fails", None),
        fallback => advised_rung(fallback),
    }
}

/// Formats the pages that [`advise`] will choose, and keeps it from repeating the reason.
fn advised_rung(fallback: Fallback) -> NextRung {
    match (fallback, thp::serves_shared()) {
        (Fallback::Base, _) => NextRung("using base pages", None),
        (_, Ok(())) => NextRung("using transparent huge pages", None),
        (_, Err(why)) => {
            REASON_REPORTED.store(true, Ordering::Relaxed);
            NextRung("using base pages, since ", Some(why))
        }
    }
}

/// The fallback, and why it isn't transparent huge pages.
pub struct NextRung(&'static str, Option<NoThp>);

impl fmt::Display for NextRung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NextRung(rung, why) = self;
        write!(f, "{rung}{}", why.map_or("", NoThp::reason))
    }
}

/// Whether the reason for missing transparent huge pages was reported.
static REASON_REPORTED: AtomicBool = AtomicBool::new(false);

/// Gives shared memory the advice for the fallback setting. Reports once if there are no
/// transparent huge pages.
pub fn advise(addr: usize, len: usize) {
    if len < facts::thp_size() {
        return;
    }
    if config::get().fallback == Fallback::Base {
        // `shmem_enabled=always` would use them without advice.
        // SAFETY: the advice changes no contents.
        let _ = unsafe { sys::madvise(addr, len, libc::MADV_NOHUGEPAGE) };
        return;
    }
    // SAFETY: the advice changes no contents.
    if unsafe { sys::madvise(addr, len, libc::MADV_HUGEPAGE) } == Err(Errno(libc::EINVAL)) {
        // On hugetlb pages, or without CONFIG_TRANSPARENT_HUGEPAGE.
        return;
    }
    if let Err(why) = thp::serves_shared() {
        let (amount, why) = (Amount(len), why.reason());
        if !REASON_REPORTED.swap(true, Ordering::Relaxed) {
            starter_message::warn(
                Kind::SharedThp,
                format_args!("shared memory: {amount} on base pages: {why}"),
            );
        }
    }
}
