//! Maps parts of a file so that the page cache can hold them in huge pages.
#![expect(unsafe_code, reason = "memory is mapped at chosen addresses")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::ptr::NonNull;
use std::time::Instant;

use super::collapse::MADV_COLLAPSE;
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Bytes to read between two checks of the deadline.
const STEP: usize = 8 << 20;

/// A part of a file, mapped at a multiple of the huge page size. No code reads the mapping, so a
/// truncated file raises no SIGBUS.
#[derive(Debug)]
pub(crate) struct Window {
    /// The reserved address space, one huge page longer than the mapping.
    space: NonNull<c_void>,
    space_len: usize,
    /// The mapping in it.
    start: NonNull<c_void>,
    len: usize,
}

fn too_large() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl Window {
    /// Maps a part for reading. Its bounds are multiples of `size`, a power of two.
    pub(crate) fn new(file: &File, part: &Range<u64>, size: u64) -> io::Result<Window> {
        let size = usize::try_from(size).map_err(|_error| too_large())?;
        let len = usize::try_from(part.end - part.start).map_err(|_error| too_large())?;
        let offset = libc::off_t::try_from(part.start).map_err(|_error| too_large())?;
        let space_len = len.checked_add(size).and_then(NonZeroUsize::new);
        let space_len = space_len.ok_or_else(too_large)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: the kernel chooses a free range.
        let space = unsafe { mmap_anonymous(None, space_len, ProtFlags::PROT_NONE, flags) }?;
        let address = space.addr().get().next_multiple_of(size);
        let mut window = Window {
            space,
            space_len: space_len.get(),
            start: space,
            len,
        };
        let (address, len) = (NonZeroUsize::new(address), NonZeroUsize::new(len));
        let len = len.ok_or_else(too_large)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED;
        // SAFETY: the range lies within the space, and nothing refers to it.
        window.start = unsafe { mmap(address, len, ProtFlags::PROT_READ, flags, file, offset) }?;
        Ok(window)
    }

    /// Returns the address of the mapping.
    pub(crate) fn start(&self) -> u64 {
        self.start.addr().get() as u64
    }

    /// Faults all pages in, huge ones if possible. Fails before Linux 5.14 (`MADV_POPULATE_READ`);
    /// older kernels put no huge pages into the page cache on a read anyway.
    pub(crate) fn touch(&self, deadline: Instant) -> io::Result<()> {
        // Readahead would read base pages past the end of the part.
        // SAFETY: the advice changes no contents of our own mapping.
        unsafe { madvise(self.start, self.len, MmapAdvise::MADV_RANDOM) }?;
        // SAFETY: as above.
        unsafe { madvise(self.start, self.len, MmapAdvise::MADV_HUGEPAGE) }?;
        for at in (0..self.len).step_by(STEP) {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let len = STEP.min(self.len - at);
            // SAFETY: an address within the mapping.
            let start = unsafe { self.start.byte_add(at) };
            // SAFETY: the step ends within the mapping. The call fails where a touch would
            // raise a signal.
            unsafe { madvise(start, len, MmapAdvise::MADV_POPULATE_READ) }?;
        }
        Ok(())
    }

    /// Collapses the mapping, as far as possible. Returns whether pages in use, or a lack of huge
    /// pages, prevented some of it.
    pub(crate) fn collapse(&self) -> bool {
        // SAFETY: the advice changes no contents of our own mapping.
        let result = unsafe { libc::madvise(self.start.as_ptr(), self.len, MADV_COLLAPSE) };
        let temporary = [Errno::ENOMEM, Errno::EBUSY, Errno::EAGAIN];
        Errno::result(result).is_err_and(|errno| temporary.contains(&errno))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the space is our own, and nothing refers to it.
        let unmapped = unsafe { munmap(self.space, self.space_len) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_part_is_aligned_and_a_short_file_is_an_error() {
        const PAGE: u64 = 2 << 20;
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * PAGE).unwrap();
        let window = Window::new(&file, &(PAGE..3 * PAGE), PAGE).unwrap();
        assert_eq!(window.start() % PAGE, 0);
        let later = Instant::now() + Duration::from_secs(60);
        window.touch(later).unwrap();
        file.set_len(0).unwrap();
        assert!(window.touch(later).is_err());
        assert!(Window::new(&file, &(0..u64::MAX - PAGE), PAGE).is_err());
    }
}
