//! System V segments: records those on hugetlb pages, advises others.

use core::ffi::c_int;

use super::map_shared::advise;
use crate::config;
use crate::extent::page_sizes;
use crate::policy::start_facts;
use crate::registry::region::Backing;
use crate::registry::shared::{lock_table, was_ever_used};
use crate::sys::{self, Errno, Result};

/// Records or advises a segment after `shmat(2)`.
pub fn attached(id: c_int, at: usize, flags: c_int) {
    let Some(pages) = config::get().shm else {
        return;
    };
    start_facts::take();
    let Ok(state) = sys::shm_state(id) else {
        return;
    };
    let len = state.size.next_multiple_of(sys::page_size());
    super::after_mapping(at, len);
    if flags & libc::SHM_REMAP != 0 {
        super::anon::note_unmapped(at, len);
    }
    let page = page_sizes::asked_size(pages);
    match page.filter(|page| at % page == 0 && is_on_huge_pages(at)) {
        Some(page) => enter(at, (len, page), flags),
        None => advise(at, len),
    }
}

fn enter(at: usize, (len, page): (usize, usize), flags: c_int) {
    let mut prot = libc::PROT_READ;
    if flags & libc::SHM_RDONLY == 0 {
        prot |= libc::PROT_WRITE;
    }
    if flags & libc::SHM_EXEC != 0 {
        prot |= libc::PROT_EXEC;
    }
    let shape = (len, len.next_multiple_of(page), page);
    // Without a free slot, calls on it are left to the kernel.
    let _ = lock_table().add(at, shape, prot, Backing::Segment);
}

/// Whether memory is on hugetlb pages: an `mremap` of its second base page to itself fails for
/// part of a huge page. Before Linux 5.16 it succeeds, so the result is `false`.
#[expect(unsafe_code, reason = "asks the kernel about memory by address")]
fn is_on_huge_pages(at: usize) -> bool {
    let page = sys::page_size();
    // SAFETY: neither address nor length changes.
    let asked = unsafe { sys::mremap(at + page, page, page, 0, 0) };
    asked == Err(Errno(libc::EINVAL))
}

/// `shmdt(2)` of a segment on huge pages; `None` for others.
pub fn shmdt(addr: usize) -> Option<Result<()>> {
    if !was_ever_used() {
        return None;
    }
    let mut table = lock_table();
    let found =
        table.find(|region| region.backing == Backing::Segment && region.origin_start() == addr)?;
    #[expect(unsafe_code, reason = "detaches a segment")]
    // SAFETY: the program detaches it.
    let result = unsafe { sys::shmdt(addr) };
    if result.is_ok() {
        while let Some(piece) = table.find(|piece| piece.origin == found.origin) {
            table.update(piece.base, None);
        }
    }
    Some(result)
}
