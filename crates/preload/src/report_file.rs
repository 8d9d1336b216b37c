//! The file of the report, opened at the start: at the end the program may have
//! dropped its rights, or have another root directory.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use hugetools_pages::config;
use hugetools_pages::sys::{self, File, Result};

/// The descriptor, or -1, and which file it was.
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Opens it, where a report is to be written to one.
pub(crate) fn prepare() {
    let kept = open().and_then(Result::ok).and_then(File::out_of_the_way);
    let Some(file) = kept else {
        return;
    };
    if let Some((device, inode)) = sys::identity(file.fd()) {
        DEVICE.store(device, Ordering::Relaxed);
        INODE.store(inode, Ordering::Relaxed);
        DESCRIPTOR.store(file.into_fd(), Ordering::Release);
    }
}

/// The descriptor, if the program has neither closed it nor given its number
/// to another file.
pub(crate) fn kept() -> Option<c_int> {
    let fd = DESCRIPTOR.load(Ordering::Acquire);
    let file = (
        DEVICE.load(Ordering::Relaxed),
        INODE.load(Ordering::Relaxed),
    );
    (fd >= 0 && sys::identity(fd) == Some(file)).then_some(fd)
}

/// Opens it anew; none where no report goes to a file.
pub(crate) fn open() -> Option<Result<File>> {
    let path = config::get().report_path()?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT;
    Some(File::open_mode(path, flags, 0o666))
}
