//! Finds movable memory: private, anonymous and writable. Hugetlb memory doesn't count, nor do
//! mappings that the kernel names, such as `[stack]`, except `[heap]`.

use core::ffi::c_int;
use core::ops::Range;

use hugetools_kernfs::smaps;

use crate::kernel::procfile::{each_line, if_allowed};

/// Calls `visit` with each movable part of `within`, and its protection.
pub fn for_each_movable(within: &Range<usize>, mut visit: impl FnMut(Range<usize>, c_int)) {
    let mut look = |line: &[u8]| {
        let record = smaps::records(line).next()?;
        let address = |word| usize::try_from(word).unwrap_or(usize::MAX);
        let start = address(record.start).max(within.start);
        let end = address(record.end).min(within.end);
        let is_ours = record.name.is_empty()
            || record.name == b"[heap]"
            || record.name.starts_with(b"[anon:");
        let is_plain = record.inode == 0 && !record.shared && record.writable && is_ours;
        if start < end && is_plain {
            let exec = if record.executable {
                libc::PROT_EXEC
            } else {
                0
            };
            visit(start..end, libc::PROT_READ | libc::PROT_WRITE | exec);
        }
        (address(record.start) >= within.end).then_some(())
    };
    if_allowed(|| each_line(c"/proc/self/maps", &mut look));
}
