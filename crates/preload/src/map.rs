//! `mmap(MAP_SHARED | MAP_ANONYMOUS)`: shared memory on huge pages, down the
//! ladder where they cannot be had.
#![expect(unsafe_code, reason = "maps memory for the program")]

use core::ffi::c_int;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::env::{Fallback, Pages};
use hugetools_pages::luck::{self, Luck};
use hugetools_pages::say::{Amount, Level, SizeName, say, say_once};
use hugetools_pages::sys::{self, Errno, Result};
use hugetools_pages::thp::NoThp;
use hugetools_pages::{config, facts, fork, hugetlb, layout, limits, populate, thp};

use crate::region::{self, Region};

/// How hugetlb pages for shared memory went so far.
pub(crate) static LUCK: Luck = Luck::new();

const SHARED_ANONYMOUS: c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Flags that leave a mapping to us. A program that asks for huge pages by
/// itself, for an address, or for something we do not know is left alone.
const HARMLESS: c_int =
    SHARED_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE | libc::MAP_STACK;

/// Whether a call of `mmap` asks for shared memory that may be on huge pages.
pub(crate) fn wants(addr: usize, len: usize, prot: c_int, flags: c_int) -> Option<Pages> {
    let pages = config::get().shm?;
    let plain = flags & SHARED_ANONYMOUS == SHARED_ANONYMOUS && flags & !HARMLESS == 0;
    let data = prot & libc::PROT_EXEC == 0 && prot & libc::PROT_WRITE != 0;
    (plain && data && addr == 0 && len > 0).then_some(pages)
}

/// Maps shared memory for the program.
pub(crate) fn map(len: usize, prot: c_int, flags: c_int, pages: Pages) -> Result<usize> {
    if let Some(size) = layout::asked_size(pages).filter(|size| *size <= len) {
        match map_huge(len, prot, flags, size) {
            Ok(addr) => return Ok(addr),
            Err(error) if config::get().fallback == Fallback::None => return Err(error),
            Err(_) => {}
        }
    }
    // SAFETY: what the program asked for, at no fixed address.
    let addr = unsafe { sys::mmap(0, len, prot, flags, -1, 0)? };
    advise(addr, len);
    Ok(addr)
}

fn map_huge(len: usize, prot: c_int, flags: c_int, size: usize) -> Result<usize> {
    let no_memory = Errno(libc::ENOMEM);
    let mapped = len.checked_next_multiple_of(size).ok_or(no_memory)?;
    let known = len
        .checked_next_multiple_of(facts::page_size())
        .ok_or(no_memory)?;
    fork::watch();
    let base = hugetlb::map_shared(mapped, prot, size).inspect_err(|_| failed(len, size))?;
    let now = flags & libc::MAP_POPULATE != 0 || limits::may_limit(size);
    let filled = if now {
        fill(base, mapped, size)
    } else {
        Ok(())
    };
    let region = Region::new(base, known, mapped, size, prot);
    if filled.is_ok() && region::open().enter(region) {
        return Ok(base);
    }
    // SAFETY: mapped just now and known to nobody.
    let _ = unsafe { sys::munmap(base, mapped) };
    failed(len, size);
    Err(no_memory)
}

/// Has all pages now: a reservation is no promise where a control group, a
/// cpuset or a memory policy limits the process.
fn fill(base: usize, mapped: usize, size: usize) -> Result<()> {
    // SAFETY: mapped just now, and zero.
    unsafe { populate::populate(base, mapped, size) }
}

fn failed(len: usize, size: usize) {
    let pages = len.div_ceil(size);
    LUCK.note(luck::shortfall_of(size, pages));
    say(
        Level::Warning,
        format_args!(
            "shared memory: {} cannot be on {} pages: {pages} are needed, {} are free; {} \
             (to grow the pool: hugeadm --pool-pages-min {}:+{pages})",
            Amount(len),
            SizeName(size),
            hugetlb::free(size),
            next_rung(),
            SizeName(size),
        ),
    );
}

/// What shared memory is on when it is not on hugetlb pages, for a message.
pub(crate) fn next_rung() -> NextRung {
    match (config::get().fallback, thp::serves_shared()) {
        (Fallback::None, _) => NextRung("the request fails", None),
        (Fallback::Thp, Ok(())) => NextRung("transparent huge pages follow", None),
        (Fallback::Thp, Err(why)) => {
            SAID_WHY.store(true, Ordering::Relaxed);
            NextRung("base pages follow, since ", Some(why))
        }
        (Fallback::Base, _) => NextRung("base pages follow", None),
    }
}

/// See [`next_rung`].
pub(crate) struct NextRung(&'static str, Option<NoThp>);

impl fmt::Display for NextRung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NextRung(rung, why) = self;
        write!(f, "{rung}{}", why.map_or("", NoThp::reason))
    }
}

/// Whether it was said why shared memory has no transparent huge pages.
static SAID_WHY: AtomicBool = AtomicBool::new(false);

/// Advises shared memory to be on transparent huge pages, and says once where
/// that does nothing.
pub(crate) fn advise(addr: usize, len: usize) {
    if config::get().fallback == Fallback::Base || len < facts::thp_size() {
        return;
    }
    // SAFETY: the advice changes no contents.
    if unsafe { sys::madvise(addr, len, libc::MADV_HUGEPAGE) } == Err(Errno(libc::EINVAL)) {
        // On hugetlb pages already, or there are no transparent ones.
        return;
    }
    if let Err(why) = thp::serves_shared() {
        let (amount, why) = (Amount(len), why.reason());
        let text = format_args!("shared memory: {amount} on base pages: {why}");
        say_once(&SAID_WHY, Level::Warning, text);
    }
}
