//! Private mappings that must be on huge pages (`HUGETLB_REQUIRE`): a request fails if settings or
//! limits rule out huge pages. Whether the kernel has one left shows only at the first touch.
//!
//! New writable mappings of at least a huge page count when made, parts of a reservation when
//! `mprotect` makes them writable. Parts of an advised one count only without huge pages.
#![expect(unsafe_code, reason = "takes a mapping back that is refused")]

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

/// Whether transparent huge pages serve; reports why not, unless mappings are required.
pub(super) fn serves(len: usize) -> bool {
    match is_any() {
        true => thp::serves(len).is_ok(),
        false => thp::serves_mapping(len),
    }
}

/// Whether a range contains a whole huge page.
fn has_whole(at: usize, len: usize) -> bool {
    let size = facts::thp_size();
    let end = at.checked_next_multiple_of(size);
    let end = end.and_then(|at| at.checked_add(size));
    end.is_some_and(|end| at.checked_add(len).is_some_and(|last| end <= last))
}

/// Counts a mapping that is about to be made; `ENOMEM` if it isn't allowed.
pub(super) fn before(call: &Call, plan: Plan) -> Result<()> {
    let Some(share) = ANON.share() else {
        return Ok(());
    };
    let applies = match plan.entry {
        Entry::New => call.len >= facts::thp_size(),
        Entry::Stays => !plan.advise || thp::is_disabled(),
        Entry::Gone => false,
    };
    let is_placed =
        || !call.is_fixed() || plan.entry == Entry::Stays || has_whole(call.addr, call.len);
    match applies && call.is_writable() {
        false => Ok(()),
        true if !plan.advise || thp::is_disabled() => fall_back(share, call.len, None),
        true if !is_placed() => fall_back(share, call.len, Some(NO_PLACE)),
        true => {
            ANON.count(call.len, false);
            Ok(())
        }
    }
}

/// Unmaps a new mapping if its address leaves no room for a huge page and that isn't allowed.
pub(super) fn after(call: &Call, plan: Plan, at: usize) -> Result<()> {
    let Some(share) = ANON.share() else {
        return Ok(());
    };
    let applies = plan.entry == Entry::New && plan.advise && !call.is_fixed();
    let is_large = call.is_writable() && call.len >= facts::thp_size();
    if !applies || !is_large || has_whole(at, call.len) {
        return Ok(());
    }
    let result = fall_back(share, call.len, Some(NO_PLACE));
    if result.is_err() {
        // SAFETY: mapped above, and nobody knows it.
        let _ = unsafe { sys::munmap(at, call.len) };
    }
    result
}

const NO_PLACE: &str = "its address leaves no room for a whole huge page";

/// Counts a mapping without huge pages; an error if that isn't allowed.
fn fall_back(share: Share, len: usize, why: Option<&str>) -> Result<()> {
    let machine = || thp::serves_private().map_or_else(thp::NoThp::reason, |()| TOO_LITTLE);
    match ANON.allows_fallback(share, len, &why.unwrap_or_else(machine)) {
        true => Ok(()),
        false => Err(Errno(libc::ENOMEM)),
    }
}

const TOO_LITTLE: &str = "there is too little memory for whole huge pages";

/// If huge pages are required, advises the parts of reservations that are about to become writable;
/// `ENOMEM` if they can't get huge pages.
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

/// Counts the growth of a mapping in advance; `ENOMEM` if it must be on huge pages and can't.
pub fn growth(call: &Remap) -> Result<()> {
    let size = facts::thp_size();
    let applies = call.new_len > call.old_len && call.new_len >= size && is_active();
    let Some(share) = ANON.share().filter(|_| applies) else {
        return Ok(());
    };
    let Some(old) = range(call.addr, call.old_len).filter(|old| !old.is_empty()) else {
        return Ok(());
    };
    let more = match registry::holding(&old) {
        Some(known) if known.is_advised && !thp::is_disabled() => return Ok(()),
        Some(_) => call.new_len - call.old_len,
        None if old.len() < large() && call.new_len >= large() => call.new_len,
        None => return Ok(()),
    };
    if !remap::is_private_memory(&old) {
        return Ok(());
    }
    match thp::serves(more) {
        Ok(()) => {
            ANON.count(more, false);
            Ok(())
        }
        Err(why) => fall_back(share, more, Some(why.reason())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_huge_page_has_room() {
        let size = facts::thp_size();
        assert!(has_whole(size, size) && has_whole(size - 4096, 2 * size));
        assert!(!has_whole(size + 4096, size) && !has_whole(size + 4096, 2 * size - 4097));
        assert!(!has_whole(usize::MAX - 4096, 4096));
    }
}
