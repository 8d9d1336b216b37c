//! `mremap(2)`.
#![expect(unsafe_code, reason = "moves the program's mappings for it")]

use core::ops::Range;

use super::range::pages;
use super::step_down::{can_step_down_soon, step_down};
use super::{before_fixed, is_shared, make_fit, named, private, replaced_by, shared};
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::{Open, open};
use crate::sys::{self, Errno, Result};

pub(super) mod call;
mod kept;
pub(super) mod trial;

pub use call::{Call, MREMAP_DONTUNMAP};
use trial::Kind;

/// `mremap(2)`; `None` where shared memory and memory that was asked for by name
/// have nothing to do with it.
pub fn mremap(call: Call) -> Option<Result<usize>> {
    let old = call.old()?;
    private::before_change(&old);
    let looked_at = old.start..old.end.max(old.start + sys::page_size());
    if registry::shared::meets(&looked_at) {
        let mut open = open();
        let region = open.first(&looked_at);
        let is_all = |region: &Region| region.base <= old.start && old.end <= region.mapped().end;
        if let Some(region) = region.filter(is_all) {
            return Some(remap_shared(open, region, &old, call));
        }
        drop(open);
        // The kernel moves several mappings at once, since Linux 6.17.
        make_fit(old.start, old.len());
        if registry::shared::meets(&looked_at) {
            return Some(Err(shared::refuse("mremap", &old)));
        }
    }
    if let Err(error) = make_way(&call) {
        return Some(Err(error));
    }
    if registry::shared::meets(&looked_at) || registry::is_named(&looked_at) {
        return Some(named::mremap(&old, call));
    }
    let kept = kept::mremap(&call, &old);
    if let Some(Ok(_)) = kept {
        replaced_by(&call);
    }
    kept
}

/// Has the kernel replace what of ours is where the call moves something to.
///
/// # Errors
/// Where it cannot be replaced, or the call cannot be done.
fn make_way(call: &Call) -> Result<()> {
    if !call.is_fixed() {
        return Ok(());
    }
    let moves = |_| {
        trial::try_move(call)?;
        let kind = trial::kind_of(&call.kept());
        if kind != Kind::One {
            make_fit(call.new_addr, call.new_len);
        }
        // Of what has to go as a whole nothing could stay.
        let is_whole = || is_shared(call.new_addr, call.new_len);
        match kind == Kind::Scattered && is_whole() {
            true => Err(Errno(libc::EFAULT)),
            false => Ok(()),
        }
    };
    before_fixed(call.new_addr, call.new_len, moves)
}

fn remap_shared(mut open: Open, region: Region, old: &Range<usize>, call: Call) -> Result<usize> {
    let new = pages(call.addr, call.new_len)?;
    let is_plain = call.is_plain() && !old.is_empty();
    if is_plain && new.end <= old.end {
        drop(open);
        let gone = super::munmap(new.end, old.end - new.end);
        return gone.unwrap_or(Ok(())).map(|()| call.addr);
    }
    let object = region.beginning() + region.whole;
    if is_plain && old.end == region.known().end && new.end <= region.mapped().end.min(object) {
        let len = new.end - region.base;
        open.update(region.base, Some(Region { len, ..region }));
        return Ok(call.addr);
    }
    if !can_step_down_soon(&mut open, &region) {
        let error = shared::refuse("mremap", old);
        return Err(match new.end > old.end && !old.is_empty() {
            true => Errno(libc::ENOMEM),
            false => error,
        });
    }
    step_down(&mut open, region)?;
    drop(open);
    make_way(&call)?;
    // SAFETY: ordinary memory by now, which the program moves.
    let now = unsafe { call.pass_on()? };
    replaced_by(&call);
    Ok(now)
}
