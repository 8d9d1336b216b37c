//! The registry's entries after `mremap` of private mappings.

use core::ops::Range;

use hugetools_kernfs::smaps;

use super::call::{advise, is_active, large, range};
use crate::kernel::procfile;
use crate::policy::{start_facts, thp};
use crate::registry::anon::{self as registry, AnonMapping};
use crate::vmops::remap::call::Call;

/// Updates the entries after a successful `mremap`.
pub fn remapped(call: &Call, now: usize) {
    if !is_active() {
        return;
    }
    let (Some(old), Some(new)) = (range(call.addr, call.old_len), range(now, call.new_len)) else {
        return;
    };
    let entry = registry::containing(&old);
    if call.flags & libc::MREMAP_DONTUNMAP == 0 {
        registry::remove(&old);
    }
    match entry {
        Some(entry) => registry::add(&AnonMapping {
            range: new,
            ..entry
        }),
        None => add_if_grown_large(&old, new),
    }
}

/// Removes the entries of the new range; advises and adds it if it has grown large.
fn add_if_grown_large(old: &Range<usize>, new: Range<usize>) {
    registry::remove(&new);
    let has_grown = old.len() < large() && new.len() >= large();
    if !has_grown || !is_private_memory(&new) {
        return;
    }
    start_facts::take();
    let is_advised = thp::serves_mapping(new.len());
    if is_advised {
        advise(new.start, new.len());
    }
    registry::add(&AnonMapping {
        range: new,
        is_advised,
    });
}

/// Whether a range is private, writable, anonymous memory; `false` if unknown.
pub(super) fn is_private_memory(range: &Range<usize>) -> bool {
    let parse_line = |line: &[u8]| {
        let record = smaps::records(line).next()?;
        let contains = |addr: usize| {
            let addr = addr as u64;
            record.start <= addr && addr < record.end
        };
        let is_unnamed = record.name.is_empty() || record.name.starts_with(b"[anon:");
        let is_private = !record.shared && record.inode == 0 && record.writable && is_unnamed;
        contains(range.start).then_some(is_private && contains(range.end - 1))
    };
    let find = || procfile::each_line(c"/proc/self/maps", parse_line);
    procfile::if_allowed(find).unwrap_or(false)
}
