//! Memory for the program: `get_huge_pages`, `get_hugepage_region`, and what
//! frees it.
//!
//! What is handed out is known by its first address, in `grant` and `plain` of
//! `hugetools_pages`. A pointer that is in neither is looked up among the
//! mappings of the process (`stray`).
#![expect(unsafe_code, reason = "calls functions of the program")]

use core::ffi::{c_ulong, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::kernel::hugetlb_pool::{self, ToGrow, ToHave};
use hugetools_pages::policy::first_look;
use hugetools_pages::registry::named::region::{self, Source};
use hugetools_pages::registry::named::{change, fallback};
use hugetools_pages::rt::message::{Amount, Level, say};
use hugetools_pages::sys::{self, Errno, File, Result};
use hugetools_pages::{config, fork};

use super::{calls, sizes, stray};

/// All flags of `get_huge_pages`; none of them changes anything.
const GHP_MASK: c_ulong = 0x01;
/// `get_hugepage_region`: on other pages, where huge pages cannot be had.
const GHR_FALLBACK: c_ulong = 0x2000_0000;
/// `get_hugepage_region`: beginning at any cache line.
const GHR_COLOR: c_ulong = 0x4000_0000;
/// All flags of `get_hugepage_region`; the third one says that neither of the
/// others is meant.
const GHR_MASK: c_ulong = 0x7000_0000;

/// `get_huge_pages`
pub(crate) fn get_huge_pages(len: usize, flags: c_ulong) -> *mut c_void {
    if flags & GHR_MASK != 0 {
        say(
            Level::Error,
            format_args!("get_huge_pages: flags of get_hugepage_region have no effect"),
        );
    }
    keeping_errno(|| {
        first_look::take();
        let page = default_page();
        let result = page.and_then(|page| hand_out(len, page));
        let start = result.inspect_err(|error| failed(*error, len, page))?;
        Ok(start as *mut c_void)
    })
}

/// The pointer for C: `errno` is set where there is none, else as before.
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

/// What `gethugepagesize` says.
fn default_page() -> Result<usize> {
    // SAFETY: takes nothing.
    let size = unsafe { calls::gethugepagesize() };
    let size = usize::try_from(size).unwrap_or(0);
    match size.is_power_of_two() {
        true => Ok(size),
        false => Err(Errno(libc::ENOSYS)),
    }
}

/// Pages of the kernel's default size need no file; for the others a mount is
/// asked first, which an administrator may have given to this user alone.
fn hand_out(len: usize, page: usize) -> Result<usize> {
    fork::watch();
    let anonymous = config::get().features.map_hugetlb;
    if anonymous && sizes::kernel_default() == Some(page) {
        return region::hand_out(len, page, Source::Pool);
    }
    // SAFETY: takes nothing.
    let fd = unsafe { calls::unlinked_fd() };
    if fd < 0 {
        return Err(last_error());
    }
    let file = File::from_fd(fd);
    region::hand_out(len, page, Source::File(file.fd()))
}

/// The `errno` of a function that failed, and may be the program's own.
fn last_error() -> Errno {
    match sys::errno() {
        Errno(0) => Errno(libc::ENOMEM),
        error => error,
    }
}

/// The thread that is in `get_hugepage_region`, which calls `get_huge_pages`; 0 if none is.
static IN_REGION: AtomicU32 = AtomicU32::new(0);

/// The function that the program has called, for a message.
fn called() -> &'static str {
    match IN_REGION.load(Ordering::Relaxed) == sys::gettid() {
        true => "get_hugepage_region",
        false => "get_huge_pages",
    }
}

/// Says why there is no memory.
fn failed(error: Errno, len: usize, page: Result<usize>) {
    let (call, amount) = (called(), Amount(len));
    match (error, page) {
        _ if len == 0 => say(
            Level::Warning,
            format_args!("{call}: a length of 0 makes no sense"),
        ),
        (_, Err(_)) => say(
            Level::Warning,
            format_args!("{call}: {amount}: there is no default huge page size"),
        ),
        (Errno(libc::ENOMEM), Ok(size)) => {
            let (pages, free) = (len.div_ceil(size), hugetlb_pool::free(size));
            let (name, needed) = (SizeName(size), pages);
            say(
                Level::Warning,
                format_args!(
                    "{call}: {amount} cannot be on {name} pages: {pages} are needed, \
                     {free}{}",
                    ToHave(ToGrow { size, needed, free })
                ),
            );
        }
        (Errno(number), Ok(size)) => say(
            Level::Warning,
            format_args!(
                "{call}: {amount} cannot be on {} pages: errno {number}",
                SizeName(size)
            ),
        ),
    }
}

/// `free_huge_pages`
///
/// # Safety
/// As the exported function's.
pub(crate) unsafe fn free_huge_pages(start: *mut c_void) {
    let addr = start as usize;
    if addr == 0 || region::take_back(addr, false) || fallback::take_back(addr, false) {
        return;
    }
    // SAFETY: as the caller says.
    if !unsafe { stray::free(&[addr]) } {
        unknown("free_huge_pages", addr);
    }
}

fn unknown(function: &str, addr: usize) {
    say(
        Level::Error,
        format_args!("{function}: {addr:#x} was not handed out by this library: nothing is freed"),
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
        first_look::take();
        let room = match on_huge_pages(len) {
            Err(_) if flags & GHR_FALLBACK != 0 => on_other_pages(len)?,
            result => result?,
        };
        match flags & GHR_COLOR {
            0 => Ok(room.start),
            // SAFETY: moves within the memory that was just had.
            _ => Ok(unsafe { calls::cachecolor(room.start, len, room.spare) }),
        }
    })
}

/// Memory and how much more than asked for it is.
struct Room {
    start: *mut c_void,
    spare: usize,
}

fn on_huge_pages(len: usize) -> Result<Room> {
    let page = default_page()?;
    let whole = len.checked_next_multiple_of(page);
    let whole = whole.ok_or(Errno(libc::ENOMEM))?;
    IN_REGION.store(sys::gettid(), Ordering::Relaxed);
    // SAFETY: takes numbers.
    let start = unsafe { calls::get_huge_pages(whole, GHP_MASK) };
    IN_REGION.store(0, Ordering::Relaxed);
    if start.is_null() {
        return Err(last_error());
    }
    let range = start as usize..(start as usize).saturating_add(whole);
    if !change::meets(&range) {
        // From a function of the program's own.
        fallback::note(range, page)?;
    }
    Ok(Room {
        start,
        spare: whole - len,
    })
}

fn on_other_pages(len: usize) -> Result<Room> {
    let (start, room) = fallback::hand_out(len)?;
    say(
        Level::Info,
        format_args!(
            "get_hugepage_region: {} on other than hugetlb pages",
            Amount(len)
        ),
    );
    Ok(Room {
        start: start as *mut c_void,
        spare: room - len,
    })
}

/// `free_hugepage_region`: as for `get_huge_pages`, but the pointer may have
/// been moved by cache lines.
///
/// # Safety
/// As the exported function's.
pub(crate) unsafe fn free_region(start: *mut c_void) {
    let addr = start as usize;
    if addr == 0 || region::take_back(addr, true) || fallback::take_back(addr, true) {
        return;
    }
    let before = sys::errno();
    let base = addr - addr % hugetools_pages::sys::page_size();
    let huge = default_page().map_or(base, |page| addr - addr % page);
    sys::set_errno(before);
    // SAFETY: as the caller says.
    if !unsafe { stray::free(&[addr, base, huge]) } {
        unknown("free_hugepage_region", addr);
    }
}
