//! Mounts of hugetlbfs: `hugetlbfs_test_path`, `hugetlbfs_find_path`,
//! `hugetlbfs_find_path_for_size`.
#![expect(
    unsafe_code,
    reason = "takes paths, and keeps a table in mapped memory"
)]

use core::ffi::{CStr, c_char, c_int, c_long};
use core::sync::atomic::{AtomicPtr, Ordering};

use hugetools_contract::env::PATH_MAX;
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::path::Path;
use hugetools_pages::sys;

use super::{calls, listings};

/// Maximum number of page sizes; no architecture has as many.
const SIZES: usize = 16;

/// A mount of hugetlbfs.
struct Mount {
    /// Page size in bytes; 0 if unused.
    size: usize,
    path: [u8; PATH_MAX],
}

/// The first mount for each page size.
struct Table {
    mounts: [Mount; SIZES],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

/// `hugetlbfs_test_path`
///
/// # Safety
/// `path` must be a C string.
pub(crate) unsafe fn test_path(path: *const c_char) -> c_int {
    // SAFETY: upheld by the caller.
    match unsafe { sys::file_system(path) } {
        Ok(found) => c_int::from(found.is_hugetlbfs()),
        Err(error) => sys::c_result(Err(error)),
    }
}

/// `hugetlbfs_find_path`
pub(crate) fn find_path() -> *const c_char {
    // SAFETY: takes nothing.
    match unsafe { calls::gethugepagesize() } {
        -1 => core::ptr::null(),
        // SAFETY: takes a number.
        size => unsafe { calls::find_path_for_size(size) },
    }
}

/// `hugetlbfs_find_path_for_size`
pub(crate) fn find_path_for_size(size: c_long) -> *const c_char {
    let size = usize::try_from(size).unwrap_or(0);
    find(size).map_or(core::ptr::null(), CStr::as_ptr)
}

/// Whether there is a mount for this page size.
pub(crate) fn has(size: usize) -> bool {
    find(size).is_some()
}

/// Returns the default directory for shared code, on the mount for pages of `size` bytes. It may
/// not exist yet.
pub fn share_dir(size: usize) -> Option<Path> {
    let mount = find(size)?.to_str().ok()?;
    Path::of(format_args!("{mount}/elflink-uid-{}", sys::getuid()))
}

/// Returns the first usable mount for pages of `size` bytes, of `HUGETLB_PATH` if set.
pub fn find(size: usize) -> Option<&'static CStr> {
    let mount = table()?
        .mounts
        .iter()
        .find(|mount| size != 0 && mount.size == size)?;
    CStr::from_bytes_until_nul(&mount.path).ok()
}

/// Returns the table, built at the first call. No lock is held, since the program's own functions
/// may run: if two threads build a table, one is kept. `None` without memory.
fn table() -> Option<&'static Table> {
    let known = TABLE.load(Ordering::Acquire);
    // SAFETY: a published table is complete and stays for ever.
    if let Some(table) = unsafe { known.as_ref() } {
        return Some(table);
    }
    let at = sys::map_new(size_of::<Table>()).ok()?;
    let new = at as *mut Table;
    // SAFETY: all bits zero are an empty table, and nobody else uses the mapping.
    unsafe { &mut *new }.fill();
    let null = core::ptr::null_mut();
    match TABLE.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: complete, and never written again.
        Ok(_) => unsafe { new.as_ref() },
        Err(first) => {
            // SAFETY: mapped above; no other code has the address.
            let _ = unsafe { sys::munmap(at, size_of::<Table>()) };
            // SAFETY: a published table.
            unsafe { first.as_ref() }
        }
    }
}

impl Table {
    fn fill(&mut self) {
        match config::get().mounts {
            Some(paths) => {
                let paths = paths.split(|byte| *byte == b':');
                for path in paths.filter(|path| !path.is_empty()) {
                    self.add_named(path);
                }
            }
            None => {
                let listed = listings::each_mount(|path| {
                    if let Some(size) = usable(path) {
                        self.add(path, size, Level::Debug);
                    }
                });
                if listed.is_err() {
                    say(
                        Level::Error,
                        format_args!("neither /proc/mounts nor /etc/mtab can be read"),
                    );
                }
            }
        }
    }

    /// Adds a mount of `HUGETLB_PATH`.
    fn add_named(&mut self, bytes: &[u8]) {
        let mut path = [0; PATH_MAX];
        let warn = |what: &str| {
            let path = core::str::from_utf8(bytes).unwrap_or("a path");
            say(Level::Warning, format_args!("HUGETLB_PATH: {path}: {what}"));
        };
        let Some(place) = path[..PATH_MAX - 1].get_mut(..bytes.len()) else {
            return say(
                Level::Error,
                format_args!("HUGETLB_PATH: a path is too long"),
            );
        };
        place.copy_from_slice(bytes);
        let Ok(path) = CStr::from_bytes_until_nul(&path) else {
            return;
        };
        // SAFETY: a C string.
        match unsafe { calls::test_path(path.as_ptr()) } {
            1 => match page_size(path) {
                Some(size) => self.add(path, size, Level::Warning),
                None => warn("its page size is unknown"),
            },
            0 => warn("it is not a hugetlbfs mount"),
            _ => warn("it cannot be reached"),
        }
    }

    /// Adds a mount. If another one has its page size, reports that at `level`.
    fn add(&mut self, path: &CStr, size: usize, level: Level) {
        let same = |mount: &&mut Mount| mount.size == size || mount.size == 0;
        let text = path.to_str().unwrap_or("a path");
        match self.mounts.iter_mut().find(same) {
            Some(mount) if mount.size == 0 => {
                let bytes = path.to_bytes_with_nul();
                mount.path[..bytes.len()].copy_from_slice(bytes);
                mount.size = size;
                say(
                    Level::Info,
                    format_args!("pages of {} at {text}", SizeName(size)),
                );
            }
            _ => say(
                level,
                format_args!("{text} is not used: another mount has its page size"),
            ),
        }
    }
}

/// Returns the page size of a hugetlbfs mount where this user may create files.
fn usable(path: &CStr) -> Option<usize> {
    // SAFETY: a C string.
    let is_hugetlbfs = unsafe { calls::test_path(path.as_ptr()) } == 1;
    (is_hugetlbfs && sys::may_use(path)).then(|| page_size(path))?
}

fn page_size(path: &CStr) -> Option<usize> {
    // SAFETY: a C string.
    let found = unsafe { sys::file_system(path.as_ptr()) };
    found
        .ok()
        .map(|found| found.block_size)
        .filter(|size| *size > 0)
}
