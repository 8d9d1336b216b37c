//! `mbind(2)` on memory of ours. The program may say where memory is to lie
//! before it touches it; ours has been populated by then, so what is elsewhere
//! moves. What has no page on those nodes becomes ordinary memory.
#![expect(unsafe_code, reason = "sets policies for the program")]

use core::ops::Range;
use core::sync::atomic::AtomicBool;

use super::divide;
use super::range::{overlap, pages};
use super::step_down::{can_step_down, step_down};
use crate::extent::index;
use crate::kernel::populate;
use crate::migrate::mbind::{Came, Wanted};
use crate::migrate::off_pool;
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::Open;
use crate::rt::message::{Amount, Level, say_once};
use crate::sys::{self, Result};

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
        // The kernel takes no part of a huge page.
        off_pool::step_down_parts(part.start, part.len());
    }
    // What was asked for as huge pages stays such.
    // SAFETY: as the caller says.
    if unsafe { wanted.apply_to_private(part, is_own)? } == Came::Short {
        off_pool::step_down(part.start, part.len());
        // SAFETY: as the caller says.
        unsafe { wanted.apply_to_private(part, false)? };
    }
    Ok(())
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
    let stays = !can_step_down(open, &region);
    let whole = region.whole_pages(&known);
    let whole = whole.or_else(|| stays.then(|| region.pages_within(&known)));
    let came = match whole {
        Some(range) if range.is_empty() => Came::There,
        // SAFETY: as the caller says.
        Some(range) => unsafe { wanted.apply_to_shared(&range, region.page)? },
        None => Came::Short,
    };
    if came == Came::There {
        return Ok(());
    }
    if stays {
        // Under that policy a first touch could kill.
        say_that_it_stays(&known);
        return Ok(());
    }
    step_down(open, region)?;
    find_again(&known);
    // SAFETY: as the caller says.
    unsafe { wanted.apply_to_private(&known, false) }.map(drop)
}

/// Has the page tables know a copy that was put in a place: the kernel moves what
/// it finds there. Where the program may not read, nothing is found.
fn find_again(range: &Range<usize>) {
    if populate::present(range.start, range.len()).is_err() {
        // Before Linux 5.14, or around holes.
        for page in range.clone().step_by(sys::page_size()) {
            let _ = sys::look_at(page);
        }
    }
}

fn say_that_it_stays(part: &Range<usize>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    say_once(
        &SAID,
        Level::Warning,
        format_args!(
            "shared memory: {} stay on the memory nodes where they are, since the pools of those \
             that the program wants (mbind) have too few pages",
            Amount(part.len())
        ),
    );
}
