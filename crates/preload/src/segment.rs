//! System V shared memory on huge pages: `shmget`, and `shmat` for the advice.
#![expect(unsafe_code, reason = "attaches segments")]

use core::ffi::{c_int, c_void};

use hugetools_contract::env::{Fallback, Pages};
use hugetools_pages::luck;
use hugetools_pages::say::{Amount, Level, SizeName, say};
use hugetools_pages::sys::{self, Errno, Result};
use hugetools_pages::{config, hugetlb, layout, limits, populate};

use crate::map::{self, LUCK};
use crate::{accounts, next};

/// `shmget`
pub(crate) fn shmget(key: c_int, size: usize, flags: c_int) -> c_int {
    let huge = config::get()
        .shm
        .and_then(|pages| page_for(pages, key, size, flags));
    if let Some(page) = huge {
        match create_huge(key, size, flags, page) {
            Ok(id) => return id,
            // The segment is there, or is not: the same on any pages.
            Err(error @ Errno(libc::EEXIST | libc::ENOENT | libc::EIDRM)) => {
                return sys::c_result(Err(error));
            }
            Err(error) if config::get().fallback == Fallback::None => {
                return sys::c_result(Err(error));
            }
            Err(_) => {}
        }
    }
    next::shmget(key, size, flags)
}

/// The page size for a segment that is being made. Looking one up, or asking
/// for huge pages oneself, is left alone; so is a segment smaller than a page.
fn page_for(pages: Pages, key: c_int, size: usize, flags: c_int) -> Option<usize> {
    let makes = key == libc::IPC_PRIVATE || flags & libc::IPC_CREAT != 0;
    let plain = flags & libc::SHM_HUGETLB == 0;
    let page = layout::asked_size(pages)?;
    (makes && plain && size >= page).then_some(page)
}

fn create_huge(key: c_int, size: usize, flags: c_int, page: usize) -> Result<c_int> {
    // A reservation is always taken: without one the first touch could kill.
    let huge_flags = flags & !libc::SHM_NORESERVE | hugetlb::shm_flags(page);
    let id = sys::shmget(key, size, huge_flags).inspect_err(|error| failed(*error, size, page))?;
    if !limits::may_limit(page) || fill(id, size, page).is_ok() {
        return Ok(id);
    }
    failed(Errno(libc::ENOMEM), size, page);
    sys::shm_remove(id)?;
    Err(Errno(libc::ENOMEM))
}

/// Has all pages of a new segment now.
fn fill(id: c_int, size: usize, page: usize) -> Result<()> {
    let addr = sys::shmat(id, 0, 0)?;
    let len = size.next_multiple_of(page);
    // SAFETY: attached just now; a new segment is zero.
    let result = unsafe { populate::populate(addr, len, page) };
    // SAFETY: attached above and known to nobody.
    unsafe { sys::shmdt(addr)? };
    result
}

fn failed(error: Errno, size: usize, page: usize) {
    let (page_name, amount) = (SizeName(page), Amount(size));
    match error.0 {
        libc::EEXIST | libc::ENOENT | libc::EIDRM | libc::EINTR => {}
        libc::EPERM => {
            let mut buffer = [0; 64];
            let group = accounts::group_name(&mut buffer);
            say(
                Level::Warning,
                format_args!(
                    "shmget: {amount} cannot be on {page_name} pages: this user is not in the \
                     group of vm.hugetlb_shm_group; {} (as root: hugeadm --set-shm-group {group})",
                    map::next_rung(),
                ),
            );
        }
        _ => {
            let pages = size.div_ceil(page);
            LUCK.note(luck::shortfall_of(page, pages));
            say(
                Level::Warning,
                format_args!(
                    "shmget: {amount} cannot be on {page_name} pages: {pages} are needed, {} are \
                     free; {} (to grow the pool: hugeadm --pool-pages-min {page_name}:+{pages})",
                    hugetlb::free(page),
                    map::next_rung(),
                ),
            );
        }
    }
}

/// `shmat`: the segment's memory, advised to be on transparent huge pages.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    // SAFETY: as the caller says.
    let at = unsafe { next::shmat(id, addr, flags) };
    if at != libc::MAP_FAILED && config::get().shm.is_some() {
        if let Some(size) = sys::shm_size(id) {
            map::advise(at as usize, size);
        }
    }
    at
}
