//! `mbind(2)` on memory of ours. The program may say where memory is to lie
//! before it touches it; ours has been populated by then. So it becomes ordinary memory,
//! and what is elsewhere moves.
#![expect(unsafe_code, reason = "sets policies for the program")]

use core::ops::Range;

use super::divide;
use super::range::{overlap, pages};
use super::step_down::{can_step_down, step_down};
use crate::extent::index;
use crate::migrate::mbind::Wanted;
use crate::migrate::off_pool;
use crate::policy::numa_copy::note_policy;
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::Open;
use crate::sys::Result;

/// `mbind`, with a mask that the caller vouches for.
///
/// # Safety
/// As for [`crate::sys::mbind`].
pub unsafe fn mbind(addr: usize, len: usize, wanted: Wanted) -> Result<()> {
    divide(&pages(addr, len)?, |open, region, part| match region {
        // SAFETY: as the caller says.
        Some(region) => unsafe { bind_region(open, region, &part, wanted) },
        // SAFETY: likewise.
        None => unsafe { bind_private(&part, wanted) },
    })
}

/// # Safety
/// As for [`mbind`].
unsafe fn bind_private(part: &Range<usize>, wanted: Wanted) -> Result<()> {
    let is_own = index::meets(part);
    if !is_own && !registry::is_named(part) {
        // SAFETY: as the caller says.
        return unsafe { wanted.apply(part) };
    }
    if is_own {
        off_pool::step_down(part.start, part.len());
    }
    note_policy();
    // What was asked for as huge pages stays such.
    // SAFETY: as the caller says.
    unsafe { wanted.apply_and_move(part) }
}

/// # Safety
/// As for [`mbind`].
unsafe fn bind_region(
    open: &mut Open,
    region: Region,
    part: &Range<usize>,
    wanted: Wanted,
) -> Result<()> {
    let known = overlap(part, &region.known());
    if can_step_down(open, &region) {
        step_down(open, region)?;
        // SAFETY: as the caller says.
        return unsafe { wanted.apply_and_move(&known) };
    }
    let pages = region.pages_within(&known);
    match pages.is_empty() {
        true => Ok(()),
        // SAFETY: as the caller says.
        false => unsafe { wanted.apply_and_move(&pages) },
    }
}
