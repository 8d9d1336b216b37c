//! Unnamed hugetlb files: `hugetlbfs_unlinked_fd` and `hugetlbfs_unlinked_fd_for_size`. They stay
//! open across `exec`, as in libhugetlbfs.
#![expect(unsafe_code, reason = "calls functions by address, with paths")]

use core::ffi::{CStr, c_int, c_long};

use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::kernel::hugetlb_pool;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, Errno, Result};

use super::calls;

/// `hugetlbfs_unlinked_fd`
pub(crate) fn unlinked() -> c_int {
    // SAFETY: takes nothing.
    match unsafe { calls::gethugepagesize() } {
        // It has set errno.
        -1 => -1,
        // SAFETY: takes a number.
        size => unsafe { calls::unlinked_fd_for_size(size) },
    }
}

/// `hugetlbfs_unlinked_fd_for_size`: a file on a mount, or a memfd.
pub(crate) fn unlinked_for_size(size: c_long) -> c_int {
    // SAFETY: takes a number.
    let dir = unsafe { calls::find_path_for_size(size) };
    let file = match dir.is_null() {
        true => without_mount(size),
        // SAFETY: that function returns a static C string.
        false => match on_mount(unsafe { CStr::from_ptr(dir) }) {
            // Linux before 5.1.
            Err(Errno(libc::EOPNOTSUPP)) => without_mount(size),
            result => result,
        },
    };
    file.unwrap_or_else(|error| sys::c_result(Err(error)))
}

fn without_mount(size: c_long) -> Result<c_int> {
    let size = usize::try_from(size).unwrap_or(0);
    if !size.is_power_of_two() || size <= sys::page_size() {
        say(
            Level::Warning,
            format_args!("there are no huge pages of {size} bytes"),
        );
        return Err(Errno(libc::ENOENT));
    }
    hugetlb_pool::inherited_file(c"libhugetlbfs", size).inspect_err(|error| {
        let (name, number) = (SizeName(size), error.0);
        say(
            Level::Warning,
            format_args!(
                "no usable hugetlbfs mount for {name} pages, and memfd_create failed: errno \
                 {number}"
            ),
        );
    })
}

fn on_mount(dir: &CStr) -> Result<c_int> {
    let nameless = libc::O_TMPFILE | libc::O_RDWR;
    sys::open_inherited(dir, nameless, 0o600).inspect_err(|Errno(number)| {
        let dir = dir.to_str().unwrap_or("the mount");
        if *number != libc::EOPNOTSUPP {
            say(
                Level::Error,
                format_args!("no file can be made on {dir}: errno {number}"),
            );
        }
    })
}
