//! `mremap(2)`.
#![expect(unsafe_code, reason = "moves the program's mappings for it")]

use core::ffi::c_int;
use core::ops::Range;

use super::step_down::{can_step_down_soon, step_down};
use super::{make_way, named, pages, private, shared};
use crate::registry::region::Region;
use crate::registry::shared::{Open, open};
use crate::sys::{self, Errno, Result};
use crate::{facts, registry};

/// What of the flags is known.
const KNOWN: c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | MREMAP_DONTUNMAP;
/// Since Linux 5.7.
pub const MREMAP_DONTUNMAP: c_int = 4;

/// The arguments.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Where the memory is.
    pub addr: usize,
    /// How long it is; 0 for one more mapping of the same.
    pub old_len: usize,
    /// How long it is to be.
    pub new_len: usize,
    /// `MREMAP_MAYMOVE` and so on.
    pub flags: c_int,
    /// Where it is to be, with flags that say so.
    pub new_addr: usize,
}

impl Call {
    fn is_fixed(&self) -> bool {
        self.flags & libc::MREMAP_FIXED != 0
    }

    /// Whether it names no new address and keeps nothing at the old one.
    fn is_plain(&self) -> bool {
        self.flags & !libc::MREMAP_MAYMOVE == 0
    }

    /// The memory as it is, or `None` for what the kernel refuses.
    fn old(&self) -> Option<Range<usize>> {
        let is_known = self.flags & !KNOWN == 0 && self.new_len > 0;
        let may = !self.is_fixed() || self.flags & libc::MREMAP_MAYMOVE != 0;
        let target = !self.is_fixed() || pages(self.new_addr, self.new_len).is_ok();
        let old = pages(self.addr, self.old_len).ok();
        old.filter(|_| is_known && may && target)
    }

    /// # Safety
    /// As for [`sys::mremap`].
    unsafe fn pass_on(&self) -> Result<usize> {
        let Call {
            addr,
            old_len,
            new_len,
            flags,
            new_addr,
        } = *self;
        // SAFETY: as the caller says.
        unsafe { sys::mremap(addr, old_len, new_len, flags, new_addr) }
    }
}

/// `mremap(2)`; `None` where shared memory and memory that was asked for by name
/// have nothing to do with it.
pub fn mremap(call: Call) -> Option<Result<usize>> {
    let old = call.old()?;
    private::before_change(&old);
    if call.is_fixed() {
        if let Err(error) = make_way(call.new_addr, call.new_len) {
            return Some(Err(error));
        }
    }
    let looked_at = old.start..old.end.max(old.start + facts::page_size());
    if !registry::shared::meets(&looked_at) && !registry::is_named(&looked_at) {
        return None;
    }
    let mut open = open();
    let region = open.first(&looked_at);
    Some(match region.filter(|region| region.base <= call.addr) {
        Some(region) => remap_shared(open, region, &old, call),
        None => {
            drop(open);
            named::mremap(&old, call)
        }
    })
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
    // SAFETY: ordinary memory by now, which the program moves.
    unsafe { call.pass_on() }
}
