//! `mremap(2)`.
#![expect(unsafe_code, reason = "moves the program's mappings for it")]

use core::ops::Range;

use super::range::pages;
use super::{after_mapping, before_fixed, private, shared};
use crate::registry;
use crate::registry::region::Region;
use crate::registry::shared::{LockedTable, lock_table};
use crate::sys::{self, Errno, Result};

pub(super) mod call;

pub use call::Call;

/// `mremap(2)`; `None` if it doesn't concern shared memory of ours.
pub fn mremap(call: Call) -> Option<Result<usize>> {
    let old = call.old()?;
    private::before_change(&old);
    if call.is_fixed() {
        if let Err(error) = before_fixed(call.new_addr, call.new_len) {
            return Some(Err(error));
        }
    }
    let looked_at = old.start..old.end.max(old.start + sys::page_size());
    if !registry::shared::overlaps(&looked_at) {
        return None;
    }
    let mut table = lock_table();
    let region = table.first(&looked_at)?;
    match region.base <= old.start && old.end <= region.mapped().end {
        true => Some(remap_shared(table, region, &old, call)),
        false => Some(Err(shared::refuse("mremap", &old))),
    }
}

fn remap_shared(
    mut table: LockedTable,
    region: Region,
    old: &Range<usize>,
    call: Call,
) -> Result<usize> {
    let new = pages(call.addr, call.new_len)?;
    let is_plain = call.is_plain() && !old.is_empty();
    if is_plain && new.end <= old.end {
        drop(table);
        let gone = super::munmap(new.end, old.end - new.end);
        return gone.unwrap_or(Ok(())).map(|()| call.addr);
    }
    let object_end = region.origin_start() + region.origin_len;
    if is_plain
        && old.end == region.program_range().end
        && new.end <= region.mapped().end.min(object_end)
    {
        let len = new.end - region.base;
        table.update(region.base, Some(Region { len, ..region }));
        return Ok(call.addr);
    }
    let ordinary = shared::make_ordinary(&mut table, region, "mremap", old);
    ordinary.map_err(|error| match is_plain {
        true => Errno(libc::ENOMEM),
        false => error,
    })?;
    drop(table);
    // SAFETY: ordinary memory, which the program moves.
    let now = unsafe { call.pass_on()? };
    after_mapping(now, call.new_len);
    Ok(now)
}
