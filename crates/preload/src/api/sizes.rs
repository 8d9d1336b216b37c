//! `gethugepagesize`, `gethugepagesizes`, `getpagesizes`.
#![expect(unsafe_code, reason = "fills the program's array")]

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::env::DefaultSize;
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::kernel::hugetlb_pool;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, Errno};

use super::{calls, listings, mounts};

/// Not read yet.
const UNKNOWN: usize = usize::MAX;

/// The kernel's default size; 0 for none.
static KERNEL: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// The library's default size; 0 for none.
static DEFAULT: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// The kernel's default huge page size in bytes.
pub(crate) fn kernel_default() -> Option<usize> {
    read_once(&KERNEL, listings::kernel_default)
}

/// Reads a size once. Holds no lock, since the program's own code may run, so two threads may both
/// read it.
fn read_once(size: &AtomicUsize, find: impl FnOnce() -> Option<usize>) -> Option<usize> {
    let mut now = size.load(Ordering::Relaxed);
    if now == UNKNOWN {
        now = find().unwrap_or(0);
        if config::is_known() {
            size.store(now, Ordering::Relaxed);
        }
    }
    (now != 0).then_some(now)
}

pub(crate) fn forget() {
    KERNEL.store(UNKNOWN, Ordering::Relaxed);
}

/// `gethugepagesize`
pub(crate) fn default_size() -> c_long {
    let size = read_once(&DEFAULT, choose_default);
    match size.and_then(|size| c_long::try_from(size).ok()) {
        Some(size) => {
            sys::set_errno(Errno(0));
            size
        }
        None => {
            sys::set_errno(Errno(libc::ENOSYS));
            -1
        }
    }
}

/// Returns `HUGETLB_DEFAULT_PAGE_SIZE` if it is the kernel's default or has a mount, else the
/// kernel's default. `None` if the variable is invalid.
fn choose_default() -> Option<usize> {
    let kernel = kernel_default();
    let asked = match config::get().default_size {
        DefaultSize::Kernel => return kernel,
        DefaultSize::Size(size) => usize::try_from(size).unwrap_or(usize::MAX),
        DefaultSize::None => {
            say(
                Level::Error,
                format_args!(
                    "HUGETLB_DEFAULT_PAGE_SIZE is not a size: no default huge page size is set"
                ),
            );
            return None;
        }
    };
    if Some(asked) == kernel || mounts::has(asked) {
        return Some(asked);
    }
    let (before, after, hint) = match (hugetlb_pool::is_offered(asked), config::get().mounts) {
        (false, _) => ("this machine has no pages of", "", ""),
        (true, Some(_)) => ("no mount in HUGETLB_PATH has pages of", "", ""),
        (true, None) => (
            "no hugetlbfs of",
            " pages is mounted for this user",
            " (as root: hugeadm --create-global-mounts)",
        ),
    };
    say(
        Level::Warning,
        format_args!(
            "HUGETLB_DEFAULT_PAGE_SIZE: {before} {}{after}; the kernel's default size is used{hint}",
            SizeName(asked)
        ),
    );
    kernel
}

/// The program's array.
struct Sizes {
    at: *mut c_long,
    room: usize,
    count: usize,
}

impl Sizes {
    /// Returns `None` for invalid arguments. A null array only counts.
    fn new(at: *mut c_long, room: c_int) -> Option<Sizes> {
        let room = usize::try_from(room).ok()?;
        (room == 0 || !at.is_null()).then_some(Sizes { at, room, count: 0 })
    }

    /// # Safety
    /// The array must have room for `room` values.
    unsafe fn put(&mut self, size: usize) {
        let Ok(size) = c_long::try_from(size) else {
            return;
        };
        if !self.at.is_null() {
            if self.count == self.room {
                return;
            }
            // SAFETY: within the array.
            let place = unsafe { self.at.add(self.count) };
            // SAFETY: upheld by the caller.
            unsafe { place.write(size) };
        }
        self.count += 1;
    }

    fn count(&self) -> c_int {
        c_int::try_from(self.count).unwrap_or(c_int::MAX)
    }
}

/// `gethugepagesizes`: the kernel's default size first, then the order of its directory.
///
/// # Safety
/// `sizes` must have room for `room` values, or be null.
pub(crate) unsafe fn huge_sizes(sizes: *mut c_long, room: c_int) -> c_int {
    let Some(mut sizes) = Sizes::new(sizes, room) else {
        return sys::c_result(Err(Errno(libc::EINVAL)));
    };
    if let Some(default) = kernel_default() {
        // SAFETY: upheld by the caller.
        unsafe { sizes.put(default) };
        let others = listings::each_size(|size| {
            if size != default {
                // SAFETY: upheld by the caller.
                unsafe { sizes.put(size) };
            }
        });
        if let Err(error) = others {
            return sys::c_result(Err(error));
        }
    }
    sys::set_errno(Errno(0));
    sizes.count()
}

/// `getpagesizes`: the base page size first.
///
/// # Safety
/// As for [`huge_sizes`].
pub(crate) unsafe fn all_sizes(sizes: *mut c_long, room: c_int) -> c_int {
    let Some(mut all) = Sizes::new(sizes, room) else {
        return sys::c_result(Err(Errno(libc::EINVAL)));
    };
    if !sizes.is_null() && room == 0 {
        return 0;
    }
    // SAFETY: upheld by the caller.
    unsafe { all.put(sys::page_size()) };
    let rest = match sizes.is_null() {
        true => sizes,
        // SAFETY: behind the last value, at most at the end of the array.
        false => unsafe { sizes.add(all.count) },
    };
    let room = room - if rest.is_null() { 0 } else { all.count() };
    // SAFETY: upheld by the caller.
    match unsafe { calls::gethugepagesizes(rest, room) } {
        -1 => -1,
        huge => all.count() + huge,
    }
}
