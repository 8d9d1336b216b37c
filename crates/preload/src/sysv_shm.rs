//! System V shared memory: `shmget` on huge pages.
//!
//! Existing segments are looked up and never changed. A new one is created with `IPC_EXCL`:
//! success proves that the segment is ours.
//!
//! **Invariants.** `shmget` fails only if it would fail without us, or for lack of huge pages that
//! `--require` demands.
//!
//! **Locks.** The registry's, for each segment recorded.
//!
//! **At a fork.** The child shares the segments and their records.
#![expect(
    unsafe_code,
    reason = "exports functions of libc, and attaches segments"
)]

use core::ffi::{c_int, c_void};

use hugetools_contract::env::Pages;
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::kernel::hugetlb_pool;
use hugetools_pages::kernel::{constraints, populate};
use hugetools_pages::policy::pool_backoff::Shortfall;
use hugetools_pages::policy::{required, start_facts};
use hugetools_pages::rt::message::Amount;
use hugetools_pages::sys::{self, Errno, Result};
use hugetools_pages::vmops::attach;
use hugetools_pages::vmops::map_shared::{
    SHORTFALL, huge_size, next_rung, report_missing_pages, report_missing_thp, report_small,
};

use crate::next;

#[unsafe(no_mangle)]
extern "C" fn shmget(key: c_int, size: usize, flags: c_int) -> c_int {
    let pages = config::get().shm.filter(|_| creates(key, flags));
    let Some(pages) = pages.filter(|_| flags & libc::SHM_HUGETLB == 0) else {
        return next::shmget(key, size, flags);
    };
    start_facts::take();
    match huge_size(pages).filter(|page| size >= *page) {
        Some(page) => get(key, size, flags, page),
        None => get_small(pages, key, size, flags),
    }
}

/// Whether the call may create a segment.
fn creates(key: c_int, flags: c_int) -> bool {
    key == libc::IPC_PRIVATE || flags & libc::IPC_CREAT != 0
}

/// Whether no segment has this key.
fn is_new(key: c_int) -> bool {
    key == libc::IPC_PRIVATE || sys::shmget(key, 0, 0) == Err(Errno(libc::ENOENT))
}

/// Creates a segment without pool pages, or looks up an existing one. Reports a new one that is
/// smaller than a pool page, but not than a transparent huge page; refuses it if it requires
/// transparent huge pages and the machine has none.
fn get_small(pages: Pages, key: c_int, size: usize, flags: c_int) -> c_int {
    let is_new = is_new(key);
    let lacks_required = is_new && required::shm_lacks_thp(pages, size);
    if lacks_required && !required::shm_may_fall_back(size) {
        report_missing_thp("shmget", size, false);
        return sys::c_result(Err(Errno(libc::ENOMEM)));
    }
    let id = next::shmget(key, size, flags);
    if is_new && id >= 0 {
        report_small("shmget", size, pages);
    }
    id
}

/// Creates a segment on huge pages, or looks up an existing one.
fn get(key: c_int, size: usize, flags: c_int, page: usize) -> c_int {
    let error = match make_huge(key, size, flags, page) {
        Ok(id) => {
            required::SHM.count(size, false);
            return id;
        }
        // An existing segment.
        Err(Errno(libc::EEXIST)) => return next::shmget(key, size, flags),
        Err(error) => error,
    };
    if !required::shm_may_fall_back(size) {
        report_shortfall(error, size, page, false);
        return sys::c_result(Err(error));
    }
    let id = next::shmget(key, size, flags);
    if id >= 0 {
        required::SHM.count(size, true);
        report_shortfall(error, size, page, true);
    }
    id
}

/// Creates a segment, or fails if not all of its pages are available.
fn make_huge(key: c_int, size: usize, flags: c_int, page: usize) -> Result<c_int> {
    // Always with a reservation: otherwise the first touch could raise SIGBUS.
    let huge = flags & !libc::SHM_NORESERVE | hugetlb_pool::shm_flags(page);
    let new = huge | libc::IPC_CREAT | libc::IPC_EXCL;
    if !constraints::may_limit(page) {
        return sys::shmget(key, size, new);
    }
    if key == libc::IPC_PRIVATE {
        return make_populated(key, size, new, page);
    }
    // Other processes see a keyed segment at once: first populate a private one as a trial.
    if is_new(key) {
        let trial = make_populated(libc::IPC_PRIVATE, size, new, page)?;
        sys::shm_remove(trial)?;
    }
    make_populated(key, size, new, page)
}

fn make_populated(key: c_int, size: usize, new: c_int, page: usize) -> Result<c_int> {
    let id = sys::shmget(key, size, new)?;
    match populate_segment(id, size.next_multiple_of(page), page) {
        Err(_) if remove_unused(id) => Err(Errno(libc::ENOMEM)),
        _ => Ok(id),
    }
}

/// Removes a segment, unless another process has attached it.
fn remove_unused(id: c_int) -> bool {
    let is_unused = sys::shm_state(id).is_ok_and(|state| state.attached == 0);
    is_unused && sys::shm_remove(id).is_ok()
}

/// Populates a new segment.
fn populate_segment(id: c_int, len: usize, page: usize) -> Result<()> {
    let addr = sys::shmat(id, 0, 0)?;
    let result = populate::shared(addr, len, page);
    // SAFETY: attached above; no other code has the address.
    unsafe { sys::shmdt(addr)? };
    result
}

/// Reports missing huge pages. `falls_back`: the segment is on smaller pages.
fn report_shortfall(error: Errno, size: usize, page: usize, falls_back: bool) {
    if error.0 != libc::EPERM {
        return report_missing_pages("shmget", size, page, falls_back);
    }
    SHORTFALL.note(Shortfall::ShmGroup);
    let (page, amount, group) = (SizeName(page), Amount(size), sys::getegid());
    required::report_shm(
        Kind::Shm,
        falls_back,
        format_args!(
            "shmget: no {page} pages for {amount}: this user is not in the group of \
             vm.hugetlb_shm_group; {} (as root: hugeadm --set-shm-group {group})",
            next_rung(falls_back),
        ),
    );
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    // SAFETY: upheld by the caller.
    let at = unsafe { next::shmat(id, addr, flags) };
    if at != libc::MAP_FAILED {
        attach::attached(id, at as usize, flags);
    }
    at
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shmdt(addr: *const c_void) -> c_int {
    match attach::shmdt(addr as usize) {
        Some(result) => sys::c_result(result),
        // SAFETY: upheld by the caller.
        None => unsafe { next::shmdt(addr) },
    }
}
