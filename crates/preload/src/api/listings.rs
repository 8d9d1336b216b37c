//! The kernel's lists of sizes and mounts, opened by libc's `open` and `opendir` with exactly
//! these paths: programs replace these functions to simulate another machine.
#![expect(unsafe_code, reason = "calls functions of libc")]

use core::ffi::CStr;

use hugetools_kernfs::keyed;
use hugetools_kernfs::mountinfo::hugetlbfs_point;
use hugetools_kernfs::pool::kib_of_dir;
use hugetools_pages::kernel::procfile;
use hugetools_pages::rt::path::Path;
use hugetools_pages::sys::{Errno, File, Result, errno};

const SIZES: &CStr = c"/sys/kernel/mm/hugepages/";

fn open(path: &CStr) -> Result<File> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a path and flags that need no third argument.
    match unsafe { libc::open(path.as_ptr(), flags) } {
        -1 => Err(errno()),
        fd => Ok(File::from_fd(fd)),
    }
}

/// Reads the kernel's default huge page size in bytes.
pub(crate) fn kernel_default() -> Option<usize> {
    let mut buffer = [0; 8192];
    let meminfo = open(c"/proc/meminfo").ok()?;
    let text = procfile::fill(&meminfo, &mut buffer);
    let kib = usize::try_from(keyed::number(text, b"Hugepagesize:")?).ok()?;
    kib.checked_mul(1024).filter(|size| *size > 0)
}

/// Calls `each` for every huge page size of the directory, in its order. A kernel without the
/// directory has only the default size.
pub(crate) fn each_size(mut each: impl FnMut(usize)) -> Result<()> {
    // SAFETY: a path.
    let dir = unsafe { libc::opendir(SIZES.as_ptr()) };
    if dir.is_null() {
        return match errno() {
            Errno(libc::ENOENT) => Ok(()),
            error => Err(error),
        };
    }
    loop {
        // SAFETY: an open directory.
        let entry = unsafe { libc::readdir(dir) };
        if entry.is_null() {
            break;
        }
        // SAFETY: an entry, valid until the next one is read.
        let name = unsafe { &(*entry).d_name };
        // SAFETY: a C string within the entry.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        if let Some(size) = size_of_name(name) {
            each(size);
        }
    }
    // SAFETY: an open directory, not used any more.
    unsafe { libc::closedir(dir) };
    Ok(())
}

/// Parses a name such as `hugepages-2048kB`.
fn size_of_name(name: &CStr) -> Option<usize> {
    let kib = usize::try_from(kib_of_dir(name.to_bytes())?).ok()?;
    kib.checked_mul(1024)
}

/// Calls `each` for every hugetlbfs mount point, as far as readable.
pub(crate) fn each_mount(mut each: impl FnMut(&CStr)) -> Result<()> {
    let table = open(c"/proc/mounts").or_else(|_| open(c"/etc/mtab"))?;
    procfile::each_line_of(&table, |line| {
        if let Some(path) = hugetlbfs_point(line).and_then(Path::of_escaped) {
            each(path.c_str());
        }
        None::<()>
    });
    Ok(())
}
