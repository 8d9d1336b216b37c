//! The system calls that no safe function stands for.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has a safe mmap or getxattr"
)]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// Whether the file may be mapped executable, as a loader maps it: not on a
/// `noexec` mount, nor against a security module.
///
/// # Errors
/// What the kernel says.
pub(crate) fn map_executable(file: &File) -> io::Result<()> {
    let one = NonZeroUsize::MIN;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_EXEC;
    // SAFETY: the kernel chooses a place where nothing is.
    let place = unsafe { mmap(None, one, prot, MapFlags::MAP_PRIVATE, file, 0) }?;
    // SAFETY: the mapping is the one just made, and nothing refers to it.
    unsafe { munmap(place, one.get()) }?;
    Ok(())
}

/// Whether an executable gives capabilities to those who start it
/// (`security.capability`).
pub(crate) fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: both strings end in zero, and a size of 0 asks for the length
    // alone, so that nothing is written.
    let len = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
    len > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_file_can_be_mapped_and_a_directory_cannot() {
        let open = |path: &Path| std::fs::OpenOptions::new().read(true).open(path).unwrap();
        let program = std::env::current_exe().unwrap();
        map_executable(&open(&program)).unwrap();
        assert!(map_executable(&open(Path::new("/"))).is_err());
        assert!(!has_file_capabilities(&program));
        assert!(!has_file_capabilities(Path::new("/no/such/file")));
    }
}
