//! `remap_file_pages(2)`: what lies elsewhere in shared memory comes to lie in a part of it,
//! too, as in a ring that is mapped twice, end to end.
//!
//! Of huge pages only whole ones could, and what takes their place later would be a copy for
//! each address, without anything in common. So they become ordinary memory before.

use super::range::touched;
use super::{divide, map_file, shared};
use crate::registry;
use crate::sys::Result;

/// Before such a call.
///
/// # Errors
/// Where other processes share what is on huge pages.
pub fn before(addr: usize, len: usize) -> Result<()> {
    let range = touched(addr, len).filter(registry::shared::meets);
    let Some(range) = range else {
        return Ok(());
    };
    divide(&range, |open, region, _| match region {
        Some(region) => {
            let made = shared::make_ordinary(open, region);
            made.map_err(|_| shared::refuse("remap_file_pages", &region.known()))
        }
        None => Ok(()),
    })
}

/// After the kernel has answered `EINVAL`, as it does for several mappings: whether those were
/// one but for our advice, which the part that was mapped anew has not, and have it all now.
pub fn rejoined(addr: usize, len: usize) -> bool {
    touched(addr, len).is_some_and(|range| map_file::join(&range))
}
