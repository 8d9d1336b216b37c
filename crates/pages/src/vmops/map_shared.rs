//! `mmap(MAP_SHARED | MAP_ANONYMOUS)`: shared memory on huge pages, down the
//! ladder where they cannot be had.
#![expect(unsafe_code, reason = "maps memory for the program")]

use core::ffi::c_int;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::config::{self, starter_message};
use crate::extent::{mlocked, page_sizes};
use crate::fork;
use crate::kernel::hugetlb_pool::{self, ToGrow, ToHave};
use crate::kernel::{constraints, facts, populate};
use crate::policy::pool_backoff::{self, PoolBackoff};
use crate::policy::thp::{self, NoThp};
use crate::policy::{first_look, required};
use crate::rt::message::Amount;
use crate::sys::{self, Errno, Filter, Result};
use hugetools_contract::env::{Fallback, Pages};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;

use crate::registry::region::Backing;
use crate::registry::shared::open;

/// How hugetlb pages for shared memory went so far.
pub static BACKOFF: PoolBackoff = PoolBackoff::new();

const SHARED_ANONYMOUS: c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Flags that leave a mapping to us. A program that asks for huge pages by
/// itself, for an address, or for something we do not know is left alone.
const HARMLESS: c_int =
    SHARED_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE | libc::MAP_STACK;

/// Whether a call of `mmap` asks for shared memory that may be on huge pages.
pub fn wants(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    offset: libc::off_t,
) -> Option<Pages> {
    let pages = config::get().shm?;
    let plain = flags & SHARED_ANONYMOUS == SHARED_ANONYMOUS && flags & !HARMLESS == 0;
    let data = prot & libc::PROT_EXEC == 0 && prot & libc::PROT_WRITE != 0;
    // An offset means nothing here, but the kernel looks at it.
    (plain && data && addr == 0 && len > 0 && offset == 0).then_some(pages)
}

/// The size of the huge pages for shared memory. None for a program that has set a filter of
/// system calls: what it changes a part of could not become ordinary memory any more.
pub fn huge_size(pages: Pages) -> Option<usize> {
    let may_become_ordinary = sys::filter() != Filter::Own;
    page_sizes::asked_size(pages).filter(|_| may_become_ordinary)
}

/// Maps shared memory for the program.
///
/// # Errors
/// The kernel's, for ordinary memory; where that is not to follow, for huge
/// pages.
pub fn map(len: usize, prot: c_int, flags: c_int, pages: Pages) -> Result<usize> {
    first_look::take();
    let size = huge_size(pages).filter(|size| *size <= len);
    let huge = size.map(|size| map_huge(len, prot, flags, size).map_err(|error| (size, error)));
    if let Some(Ok(addr)) = huge {
        required::count_shm(len, false);
        return Ok(addr);
    }
    let falls = huge.is_some() || required::shm_lacks_thp(pages, len);
    let may_follow = !falls || required::shm_may_fall(len);
    let result = match huge {
        Some(Err((_, error))) if !may_follow => Err(error),
        None if !may_follow => Err(Errno(libc::ENOMEM)),
        // SAFETY: what the program asked for, at no fixed address.
        _ => unsafe { sys::mmap(0, len, prot, flags, -1, 0) },
    };
    if falls && (result.is_ok() || !may_follow) {
        failed(len, size, may_follow);
    }
    if let Ok(addr) = result {
        if len >= facts::thp_size() {
            required::count_shm(len, falls);
        }
        tell_small("shared memory", len, pages);
        advise(addr, len);
    }
    result
}

fn map_huge(len: usize, prot: c_int, flags: c_int, size: usize) -> Result<usize> {
    let no_memory = Errno(libc::ENOMEM);
    let mapped = len.checked_next_multiple_of(size).ok_or(no_memory)?;
    let known = len
        .checked_next_multiple_of(sys::page_size())
        .ok_or(no_memory)?;
    // Who shares it is told by the forks since.
    fork::watch();
    let base = hugetlb_pool::map_shared(mapped, prot, size)?;
    // A reservation is no promise where a control group, a cpuset or a memory
    // policy limits the process.
    let now = flags & libc::MAP_POPULATE != 0 || constraints::may_limit(size);
    let filled = match now {
        true => populate::shared(base, mapped, size),
        false => Ok(()),
    };
    let shape = (known, mapped, size);
    if filled.is_ok() && open().enter(base, shape, prot, Backing::Anonymous) {
        facts::learn_room();
        mlocked::came(&(base..base + known));
        return Ok(base);
    }
    // SAFETY: mapped just now and known to nobody.
    let _ = unsafe { sys::munmap(base, mapped) };
    Err(no_memory)
}

fn failed(len: usize, size: Option<usize>, may_follow: bool) {
    let Some(size) = size else {
        return lacks_thp("shared memory", len, may_follow);
    };
    let pages = len.div_ceil(size);
    BACKOFF.note(pool_backoff::shortfall_of(size, pages));
    let free = hugetlb_pool::free(size);
    let needed = pages;
    required::tell_of_shm(
        Kind::Shm,
        may_follow,
        format_args!(
            "shared memory: {} cannot be on {} pages: {pages} are needed, {free}; {}{}",
            Amount(len),
            SizeName(size),
            next_rung(may_follow),
            ToHave(ToGrow { size, needed, free }),
        ),
    );
}

/// Says that transparent huge pages are required, and that there are none. `what`
/// asks for them.
pub fn lacks_thp(what: &str, len: usize, may_follow: bool) {
    let why = thp::serves_shared().map_or_else(NoThp::reason, |()| "there are none");
    let next = next_rung(may_follow);
    required::tell_of_shm(
        Kind::SharedThp,
        may_follow,
        format_args!("{what}: {} on base pages: {why}; {next}", Amount(len)),
    );
}

/// Says that a request is smaller than one page of the size that was asked for, where smaller
/// huge pages have a place in it. `what` is the request.
pub fn tell_small(what: &str, len: usize, pages: Pages) {
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

/// What shared memory is on when it is not on hugetlb pages, for a message.
pub fn next_rung(may_follow: bool) -> NextRung {
    match config::get().fallback {
        _ if !may_follow => NextRung("the request fails", None),
        Fallback::None => NextRung("the request fails", None),
        fallback => advised_rung(fallback),
    }
}

/// What shared memory is on that never asks a pool, for a message; see [`advise`].
fn advised_rung(fallback: Fallback) -> NextRung {
    match (fallback, thp::serves_shared()) {
        (Fallback::Base, _) => NextRung("base pages follow", None),
        (_, Ok(())) => NextRung("transparent huge pages follow", None),
        (_, Err(why)) => {
            SAID_WHY.store(true, Ordering::Relaxed);
            NextRung("base pages follow, since ", Some(why))
        }
    }
}

/// See [`next_rung`].
pub struct NextRung(&'static str, Option<NoThp>);

impl fmt::Display for NextRung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NextRung(rung, why) = self;
        write!(f, "{rung}{}", why.map_or("", NoThp::reason))
    }
}

/// Whether it was said why shared memory has no transparent huge pages.
static SAID_WHY: AtomicBool = AtomicBool::new(false);

/// Advises shared memory to be on transparent huge pages, and says once where
/// that does nothing; or on none, where base pages were asked to follow.
pub fn advise(addr: usize, len: usize) {
    if len < facts::thp_size() {
        return;
    }
    if config::get().fallback == Fallback::Base {
        // Where `shmem_enabled` is `always` it would have them unasked.
        // SAFETY: the advice changes no contents.
        let _ = unsafe { sys::madvise(addr, len, libc::MADV_NOHUGEPAGE) };
        return;
    }
    // SAFETY: the advice changes no contents.
    if unsafe { sys::madvise(addr, len, libc::MADV_HUGEPAGE) } == Err(Errno(libc::EINVAL)) {
        // On hugetlb pages already, or there are no transparent ones.
        return;
    }
    if let Err(why) = thp::serves_shared() {
        let (amount, why) = (Amount(len), why.reason());
        if !SAID_WHY.swap(true, Ordering::Relaxed) {
            starter_message::warn(
                Kind::SharedThp,
                format_args!("shared memory: {amount} on base pages: {why}"),
            );
        }
    }
}
