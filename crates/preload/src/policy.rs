//! `mbind(2)` on memory of ours. The program may say where memory is to lie
//! before it touches it; ours has been populated by then, so what is elsewhere
//! moves. What has no page on those nodes becomes ordinary memory.
#![expect(unsafe_code, reason = "sets policies for the program")]

use core::ops::Range;
use core::sync::atomic::AtomicBool;

use hugetools_pages::say::{Amount, Level, say_once};
use hugetools_pages::sys::Result;
use hugetools_pages::wanted::{Came, Wanted};
use hugetools_pages::{move_down, register};

use crate::change::{divide, pages, step_down, whole_pages};
use crate::granted;
use crate::range::overlap;
use crate::region::{Open, Region};

/// `mbind`, with a mask that the caller vouches for.
///
/// # Safety
/// As for [`hugetools_pages::sys::mbind`].
pub(crate) unsafe fn mbind(addr: usize, len: usize, wanted: Wanted) -> Result<()> {
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
    let is_own = register::meets(part);
    if !is_own && !granted::meets(part) {
        // SAFETY: as the caller says.
        return unsafe { wanted.apply(part) };
    }
    if is_own {
        // The kernel takes no part of a huge page.
        move_down::step_down_parts(part.start, part.len());
    }
    // What was asked for as huge pages stays such.
    // SAFETY: as the caller says.
    if unsafe { wanted.apply_to_private(part, is_own)? } == Came::Short {
        move_down::step_down(part.start, part.len());
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
    let stays = region.may_be_shared();
    let whole = whole_pages(&region, &known).or_else(|| stays.then(|| within(&region, &known)));
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
    // SAFETY: as the caller says.
    unsafe { wanted.apply_to_private(&known, false) }.map(drop)
}

fn say_that_it_stays(part: &Range<usize>) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let text = format_args!(
        "shared memory: {} stay on the memory nodes where they are, since the pools of those that \
         the program wants (mbind) have too few pages",
        Amount(part.len())
    );
    say_once(&SAID, Level::Warning, text);
}

/// The whole huge pages within a part of a region.
fn within(region: &Region, part: &Range<usize>) -> Range<usize> {
    let (page, base) = (region.page, region.base);
    let start = base + (part.start - base).next_multiple_of(page);
    start..(base + (part.end - base) / page * page).max(start)
}
