//! Private mappings that must be on huge pages (`HUGETLB_REQUIRE`): a request fails if settings or
//! limits rule out huge pages. Whether the kernel has a huge page left shows only at the first
//! touch.
//!
//! A writable mapping of at least a huge page counts when it is made, and its growth before
//! `mremap`. Parts of a reservation count when `mprotect` makes them writable. In an advised
//! reservation or mapping, parts and growth count only if they get no huge pages.
#![expect(unsafe_code, reason = "unmaps a refused mapping")]

use core::ffi::c_int;

use hugetools_contract::env::Share;

use super::call::{Call, advise, is_active, large, range};
use super::{Entry, Plan, made_writable, remap};
use crate::kernel::facts;
use crate::policy::required::ANON;
use crate::policy::thp;
use crate::registry::anon as registry;
use crate::sys::{self, Errno, Result};
use crate::vmops::remap::call::Call as Remap;

/// Whether private mappings are required.
pub(super) fn is_any() -> bool {
    ANON.share().is_some()
}

/// Whether a mapping of `len` bytes gets transparent huge pages. If not, reports why, except for
/// required mappings: [`fall_back`] reports those.
pub(super) fn serves(len: usize) -> bool {
    match is_any() {
        true => thp::serves(len).is_ok(),
        false => thp::serves_mapping(len),
    }
}

/// Whether a range contains an aligned huge page.
fn has_aligned_huge_page(at: usize, len: usize) -> bool {
    let size = facts::thp_size();
    let page = at.checked_next_multiple_of(size);
    let page_end = page.and_then(|page| page.checked_add(size));
    page_end.is_some_and(|page_end| at.checked_add(len).is_some_and(|end| page_end <= end))
}

/// Whether [`after`] counts a mapping: its address decides whether a huge page fits, and `mmap` may
/// choose another address than `call.addr`.
fn counts_after(call: &Call, plan: Plan) -> bool {
    plan.entry == Entry::New && plan.advise && !call.is_fixed()
}

/// Counts a mapping before `mmap`, unless [`after`] does; `ENOMEM` if it would be on base pages and
/// the requirement forbids that.
pub(super) fn before(call: &Call, plan: Plan) -> Result<()> {
    let Some(share) = ANON.share() else {
        return Ok(());
    };
    let applies = match plan.entry {
        Entry::New => call.len >= facts::thp_size() && !counts_after(call, plan),
        Entry::Stays => !plan.advise || thp::is_disabled(),
        Entry::Gone => false,
    };
    let fits = || plan.entry == Entry::Stays || has_aligned_huge_page(call.addr, call.len);
    match applies && call.is_writable() {
        false => Ok(()),
        true if !plan.advise || thp::is_disabled() => fall_back(share, call.len, None),
        true if !fits() => fall_back(share, call.len, Some(NO_WHOLE_PAGE)),
        true => {
            ANON.count(call.len, false);
            Ok(())
        }
    }
}

/// Counts a new mapping whose address wasn't known before. If no huge page fits there and the
/// requirement forbids base pages, unmaps it and returns `ENOMEM`.
pub(super) fn after(call: &Call, plan: Plan, at: usize) -> Result<()> {
    let Some(share) = ANON.share() else {
        return Ok(());
    };
    let is_large = call.is_writable() && call.len >= facts::thp_size();
    if !is_large || !counts_after(call, plan) {
        return Ok(());
    }
    if has_aligned_huge_page(at, call.len) {
        ANON.count(call.len, false);
        return Ok(());
    }
    let result = fall_back(share, call.len, Some(NO_WHOLE_PAGE));
    if result.is_err() {
        // SAFETY: the caller has just mapped it, and the program doesn't have its address.
        let _ = unsafe { sys::munmap(at, call.len) };
    }
    result
}

const NO_WHOLE_PAGE: &str = "its address leaves no room for a whole huge page";

/// Counts `len` bytes on base pages. If the requirement forbids that, reports the reason and
/// returns `ENOMEM`. Without `why`, the reason is the kernel's setting or the memory control group.
fn fall_back(share: Share, len: usize, why: Option<&str>) -> Result<()> {
    let kernel_reason =
        || thp::serves_private().map_or_else(thp::NoThp::reason, |()| GROUP_IS_FULL);
    match ANON.allows_fallback(share, len, &why.unwrap_or_else(kernel_reason)) {
        true => Ok(()),
        false => Err(Errno(libc::ENOMEM)),
    }
}

const GROUP_IS_FULL: &str = "the memory control group had too little left";

/// Counts required parts of reservations before `mprotect` makes them writable, and advises those
/// not advised yet. `ENOMEM` if they would be on base pages and the requirement forbids that.
pub fn commit(addr: usize, len: usize, prot: c_int) -> Result<()> {
    let Some(share) = ANON.share() else {
        return Ok(());
    };
    for known in made_writable(addr, len, prot) {
        let (part, is_advised) = (known.range, known.is_advised);
        match thp::serves(if is_advised { 0 } else { part.len() }) {
            Ok(()) if is_advised => {}
            Ok(()) => {
                ANON.count(part.len(), false);
                advise(part.start, part.len());
            }
            Err(why) => fall_back(share, part.len(), Some(why.reason()))?,
        }
    }
    Ok(())
}

/// Counts the growth of a mapping before `mremap`; `ENOMEM` if it would be on base pages and the
/// requirement forbids that.
pub fn growth(call: &Remap) -> Result<()> {
    let size = facts::thp_size();
    let applies = call.new_len > call.old_len && call.new_len >= size && is_active();
    let Some(share) = ANON.share().filter(|_| applies) else {
        return Ok(());
    };
    let Some(old) = range(call.addr, call.old_len).filter(|old| !old.is_empty()) else {
        return Ok(());
    };
    let added = match registry::holding(&old) {
        Some(known) if known.is_advised && !thp::is_disabled() => return Ok(()),
        Some(_) => call.new_len - call.old_len,
        None if old.len() < large() && call.new_len >= large() => call.new_len,
        None => return Ok(()),
    };
    if !remap::is_private_memory(&old) {
        return Ok(());
    }
    match thp::serves(added) {
        Ok(()) => {
            ANON.count(added, false);
            Ok(())
        }
        Err(why) => fall_back(share, added, Some(why.reason())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_aligned_huge_pages_fit() {
        let size = facts::thp_size();
        assert!(has_aligned_huge_page(size, size) && has_aligned_huge_page(size - 4096, 2 * size));
        assert!(
            !has_aligned_huge_page(size + 4096, size)
                && !has_aligned_huge_page(size + 4096, 2 * size - 4097)
        );
        assert!(!has_aligned_huge_page(usize::MAX - 4096, 4096));
    }
}
