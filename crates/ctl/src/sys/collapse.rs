//! Huge pages for another process: `process_madvise(2)` with `MADV_COLLAPSE`, and
//! what of its memory is huge already. Which ranges `--pid` asks it for, and at what
//! pace, is decided in [`crate::adopt`].
#![expect(
    unsafe_code,
    reason = "neither std nor nix has process_madvise or PAGEMAP_SCAN"
)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Has the kernel put the memory of a process at these addresses together into huge
/// pages, contents and all (Linux 6.1). An empty range asks whether it would.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`; `EACCES` or `EPERM` where the process may not be
/// read; `ESRCH` where it has ended; `ENOSYS` and `EINVAL` before Linux 6.1; `ENOMEM`
/// where nothing is mapped there, or there is no huge page to be had; `EBUSY` where the
/// memory control group has no room; `EAGAIN` where a page is in use by a device or the
/// kernel; `EINVAL` where this memory cannot be on huge pages.
pub(crate) fn collapse(process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
    let wrong = |_error| io::Error::from_raw_os_error(libc::EINVAL);
    let start = usize::try_from(range.start).map_err(wrong)?;
    let len = usize::try_from(range.end - range.start).map_err(wrong)?;
    let vector = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(start),
        iov_len: len,
    };
    /// Linux 6.1; not in each libc's header.
    const MADV_COLLAPSE: libc::c_int = 25;
    // SAFETY: the kernel reads the vector, and no memory of this process; that of the
    // other one keeps its contents.
    let advised = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            &raw const vector,
            usize::from(len > 0),
            MADV_COLLAPSE,
            0,
        )
    };
    match advised {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// `struct page_region`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg`
#[repr(C)]
#[derive(Debug, Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// What lies on transparent huge pages between these addresses, by a process's
/// `pagemap`; `None` where the kernel does not tell, before Linux 6.7.
pub(crate) fn huge(pagemap: &File, range: &Range<u64>) -> Option<Vec<Range<u64>>> {
    const PAGEMAP_SCAN: libc::Ioctl = 0xc060_6610_u32 as libc::Ioctl;
    const HUGE: u64 = 1 << 6;
    const REGIONS: usize = 512;
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let mut regions = [Region::default(); REGIONS];
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start: at,
            end: range.end,
            vec: regions.as_mut_ptr().expose_provenance() as u64,
            vec_len: REGIONS as u64,
            category_mask: HUGE,
            return_mask: HUGE,
            ..Scan::default()
        };
        // SAFETY: the kernel fills in as many regions as it is told there are, and
        // where it has come to.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
        let count = usize::try_from(count).ok()?;
        let regions = regions.iter().take(count);
        found.extend(regions.map(|region| region.start..region.end));
        if scan.walk_end <= at {
            return None;
        }
        at = scan.walk_end;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::pidfd;
    use std::os::fd::AsFd;

    #[test]
    fn an_empty_range_asks_for_the_right_alone() {
        let own = pidfd::open(std::process::id()).unwrap();
        match collapse(own.as_fd(), &(0..0)) {
            Ok(()) => {}
            // Before Linux 6.1.
            Err(error) => assert!(matches!(
                error.raw_os_error(),
                Some(libc::ENOSYS | libc::EINVAL | libc::EPERM)
            )),
        }
        assert!(collapse(own.as_fd(), &(0..1 << 21)).is_err());
    }

    #[test]
    fn nothing_huge_is_found_where_nothing_is_mapped() {
        let mut options = std::fs::OpenOptions::new();
        let pagemap = options.read(true).open("/proc/self/pagemap").unwrap();
        if let Some(found) = huge(&pagemap, &(0..1 << 16)) {
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
