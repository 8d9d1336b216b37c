//! Decides whether private mappings get huge pages. With `HUGETLB_REQUIRE`, a request fails if
//! settings or limits rule them out. Only the first touch shows whether the kernel has a free huge
//! page, and whether one fits at an address that the program chose.
//!
//! A writable mapping of at least a huge page counts when it is made, and its growth before
//! `mremap`. Parts of a reservation count when `mprotect` makes them writable. In an advised
//! reservation or mapping, parts and growth count only if they get no huge pages.

use super::call::{is_active, large, range};
use super::remap::is_private_memory;
use crate::kernel::facts;
use crate::policy::required::ANON;
use crate::policy::thp;
use crate::registry::anon as registry;
use crate::sys::Result;
use crate::vmops::remap::call::Call as Remap;

/// Whether `len` more writable bytes get huge pages; reports why not. Counts the bytes if huge
/// pages are required; `ENOMEM` if the requirement rules out base pages for them.
pub(super) fn admit(len: usize) -> Result<bool> {
    match ANON.share() {
        Some(share) => ANON.admit(share, len),
        None => Ok(thp::serves_mapping(len)),
    }
}

/// Like [`admit`], for a part of a registered mapping.
pub(super) fn admit_part(len: usize, is_advised: bool) -> Result<bool> {
    match is_advised && thp::serves(0).is_ok() {
        true => Ok(true),
        false => Ok(admit(len)? || is_advised),
    }
}

/// Counts the required growth of a mapping before `mremap`; `ENOMEM` as for `admit`.
pub fn admit_growth(call: &Remap) -> Result<()> {
    let grows = call.new_len > call.old_len && call.new_len >= facts::thp_size();
    let applies = grows && ANON.share().is_some() && is_active();
    let old = range(call.addr, call.old_len).filter(|old| applies && !old.is_empty());
    let Some(old) = old else {
        return Ok(());
    };
    let added = match registry::containing(&old) {
        Some(mapping) if mapping.is_advised && !thp::is_disabled() => return Ok(()),
        Some(_) => call.new_len - call.old_len,
        None if old.len() < large() && call.new_len >= large() => call.new_len,
        None => return Ok(()),
    };
    match is_private_memory(&old) {
        true => admit(added).map(drop),
        false => Ok(()),
    }
}
