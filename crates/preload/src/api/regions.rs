//! Memory: `get_huge_pages`, `get_hugepage_region`, and the functions that free it.
//!
//! Huge pages are a private mapping with a reservation, populated at once: missing pages are an
//! error. A fork shares them as the kernel defines.
#![expect(unsafe_code, reason = "calls functions of the program")]

use core::ffi::{c_int, c_ulong, c_void};
use core::ptr::null_mut;

use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::extent::address_space;
use hugetools_pages::kernel::hugetlb_pool::{self, GrowHint};
use hugetools_pages::kernel::{facts, populate};
use hugetools_pages::policy::{start_facts, thp};
use hugetools_pages::rt::message::{Amount, Level, say};
use hugetools_pages::sys::{self, Errno, File, Result};

use super::{calls, region_table, sizes};
use crate::next;

/// All flags of `get_huge_pages`; none has an effect.
const GHP_MASK: c_ulong = 0x01;
/// `get_hugepage_region`: fall back to other pages.
const GHR_FALLBACK: c_ulong = 0x2000_0000;
/// `get_hugepage_region`: shift each region by some cache lines.
const GHR_COLOR: c_ulong = 0x4000_0000;
/// All flags of `get_hugepage_region`. The third, `GHR_STRICT`, has no effect.
const GHR_MASK: c_ulong = 0x7000_0000;

pub(crate) fn get_huge_pages(len: usize, flags: c_ulong) -> *mut c_void {
    if flags & GHR_MASK != 0 {
        say(
            Level::Error,
            format_args!("get_huge_pages: flags of get_hugepage_region have no effect"),
        );
    }
    keeping_errno(|| {
        start_facts::take();
        let page = default_page();
        let result = page.and_then(|page| map_default_pages(len, page));
        let start = result.inspect_err(|error| failed(*error, len, page))?;
        Ok(start as *mut c_void)
    })
}

/// Returns the pointer, or null with `errno` set; keeps `errno` on success.
fn keeping_errno(get: impl FnOnce() -> Result<*mut c_void>) -> *mut c_void {
    let before = sys::errno();
    match get() {
        Ok(start) => {
            sys::set_errno(before);
            start
        }
        Err(error) => {
            sys::set_errno(error);
            null_mut()
        }
    }
}

/// Returns the size of `gethugepagesize`.
fn default_page() -> Result<usize> {
    // SAFETY: takes nothing.
    let size = unsafe { calls::gethugepagesize() };
    let size = usize::try_from(size).unwrap_or(0);
    match size.is_power_of_two() {
        true => Ok(size),
        false => Err(Errno(libc::ENOSYS)),
    }
}

/// Maps huge pages. Pages of the kernel's default size are anonymous, unless `HUGETLB_FEATURES` has
/// `no_map_hugetlb`. Others come from `unlinked_fd`: a mount may have reserved pages.
fn map_default_pages(len: usize, page: usize) -> Result<usize> {
    let anonymous = config::get().map_hugetlb;
    if anonymous && sizes::kernel_default() == Some(page) {
        let flags = libc::MAP_ANONYMOUS | hugetlb_pool::map_flags(page);
        return map_populated(len, page, flags, -1);
    }
    // SAFETY: takes nothing.
    let fd = unsafe { calls::unlinked_fd() };
    if fd < 0 {
        return Err(last_error());
    }
    let file = File::from_fd(fd);
    map_populated(len, page, 0, file.fd())
}

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
const NO_MEMORY: Errno = Errno(libc::ENOMEM);

/// Maps whole huge pages and populates them.
fn map_populated(len: usize, page: usize, flags: c_int, fd: c_int) -> Result<usize> {
    if len == 0 {
        return Err(Errno(libc::EINVAL));
    }
    let len = len.checked_next_multiple_of(page).ok_or(NO_MEMORY)?;
    // SAFETY: a new mapping.
    let start = unsafe { sys::mmap(0, len, READ_WRITE, libc::MAP_PRIVATE | flags, fd, 0) };
    let start = start.map_err(|_| NO_MEMORY)?;
    // SAFETY: mapped above, and zero.
    let is_populated = unsafe { populate::populate(start, len, page) }.is_ok();
    if !is_populated || !region_table::insert(start, len, page) {
        // SAFETY: mapped above; no other code has the address.
        let _ = unsafe { sys::munmap(start, len) };
        return Err(NO_MEMORY);
    }
    Ok(start)
}

/// Maps base pages, or transparent huge pages if they are the fallback; returns address and length.
fn map_fallback(len: usize) -> Result<(usize, usize)> {
    if len == 0 {
        return Err(Errno(libc::EINVAL));
    }
    let page = sys::page_size();
    let len = len.checked_next_multiple_of(page).ok_or(NO_MEMORY)?;
    let huge = thp::is_fallback_for(len);
    let align = if huge { facts::thp_size() } else { page };
    let start = address_space::reserve_elsewhere(len, align).map_err(|_| NO_MEMORY)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: reserved above.
    let mapped = unsafe { sys::mmap(start, len, READ_WRITE, flags, -1, 0) };
    if mapped.is_err() || !region_table::insert(start, len, page) {
        // SAFETY: reserved above; no other code has the address.
        let _ = unsafe { sys::munmap(start, len) };
        return Err(NO_MEMORY);
    }
    if huge {
        // SAFETY: mapped above.
        unsafe { thp::advise(start, len) };
    }
    Ok((start, len))
}

/// Unmaps a region; returns whether it is known.
fn unmap_region(addr: usize, shifted: bool) -> bool {
    let Some((start, len)) = region_table::remove(addr, shifted) else {
        return false;
    };
    // MPI libraries intercept libc's munmap.
    // SAFETY: the program has freed it.
    let _ = unsafe { next::munmap(start as *mut c_void, len) };
    true
}

/// Returns the `errno` of a failed function, which may be the program's own.
fn last_error() -> Errno {
    match sys::errno() {
        Errno(0) => Errno(libc::ENOMEM),
        error => error,
    }
}

/// Says why there are no huge pages.
fn failed(error: Errno, len: usize, page: Result<usize>) {
    let amount = Amount(len);
    match (error, page) {
        _ if len == 0 => say(
            Level::Warning,
            format_args!("no huge pages: the length is 0"),
        ),
        (_, Err(_)) => say(
            Level::Warning,
            format_args!("no huge pages for {amount}: there is no default huge page size"),
        ),
        (Errno(libc::ENOMEM), Ok(size)) => {
            let (needed, free) = (len.div_ceil(size), hugetlb_pool::free(size));
            say(
                Level::Warning,
                format_args!(
                    "no huge pages for {amount}: {needed} pages of {} are needed, {free}{}",
                    SizeName(size),
                    GrowHint { size, needed, free }
                ),
            );
        }
        (Errno(number), Ok(size)) => say(
            Level::Warning,
            format_args!(
                "no huge pages for {amount}: {} pages fail with errno {number}",
                SizeName(size)
            ),
        ),
    }
}

pub(crate) fn free_huge_pages(start: *mut c_void) {
    let addr = start as usize;
    if addr != 0 && !unmap_region(addr, false) {
        report_unknown("free_huge_pages", addr);
    }
}

fn report_unknown(function: &str, addr: usize) {
    say(
        Level::Error,
        format_args!("{function}: {addr:#x} was not allocated by this library: nothing is freed"),
    );
}

/// `get_hugepage_region`
pub(crate) fn get_region(len: usize, flags: c_ulong) -> *mut c_void {
    if flags & GHP_MASK != 0 {
        say(
            Level::Error,
            format_args!("get_hugepage_region: flags of get_huge_pages have no effect"),
        );
    }
    keeping_errno(|| {
        start_facts::take();
        let memory = match on_huge_pages(len) {
            Err(_) if flags & GHR_FALLBACK != 0 => on_other_pages(len)?,
            result => result?,
        };
        match flags & GHR_COLOR {
            0 => Ok(memory.start),
            // SAFETY: moves within the new memory.
            _ => Ok(unsafe { calls::cachecolor(memory.start, len, memory.spare) }),
        }
    })
}

/// Memory; `spare` bytes of it are beyond the request.
struct Allocation {
    start: *mut c_void,
    spare: usize,
}

fn on_huge_pages(len: usize) -> Result<Allocation> {
    let page = default_page();
    let whole = page.and_then(|page| len.checked_next_multiple_of(page).ok_or(NO_MEMORY));
    let whole = whole.inspect_err(|error| failed(*error, len, page))?;
    // SAFETY: takes numbers.
    let start = unsafe { calls::get_huge_pages(whole, GHP_MASK) };
    if start.is_null() {
        return Err(last_error());
    }
    // The program's own `get_huge_pages` may have mapped it.
    region_table::insert(start as usize, whole, page?);
    Ok(Allocation {
        start,
        spare: whole - len,
    })
}

fn on_other_pages(len: usize) -> Result<Allocation> {
    let (start, room) = map_fallback(len)?;
    say(
        Level::Info,
        format_args!("get_hugepage_region: {} not on hugetlb pages", Amount(len)),
    );
    Ok(Allocation {
        start: start as *mut c_void,
        spare: room - len,
    })
}

/// `free_hugepage_region`; the pointer may be shifted by cache lines.
pub(crate) fn free_region(start: *mut c_void) {
    let addr = start as usize;
    if addr != 0 && !unmap_region(addr, true) {
        report_unknown("free_hugepage_region", addr);
    }
}
