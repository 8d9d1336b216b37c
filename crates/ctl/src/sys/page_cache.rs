//! Parts of a file, mapped where huge pages of the page cache fit.
#![expect(
    unsafe_code,
    reason = "memory is mapped at chosen addresses, and nix has no sync_file_range"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// So much is read before the clock is looked at.
const STEP: usize = 8 << 20;

/// Address space of our own with the parts in it, one behind the other. It is
/// never read, so that a file that gets shorter kills nobody.
#[derive(Debug)]
pub(crate) struct Window {
    space: NonNull<c_void>,
    len: usize,
    /// Where each part is.
    parts: Vec<(NonNull<c_void>, usize)>,
}

fn too_large() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl Window {
    /// Maps the parts for reading. Their bounds are multiples of `size`, a
    /// power of two.
    pub(crate) fn new(file: &File, parts: &[Range<u64>], size: u64) -> io::Result<Window> {
        let size = usize::try_from(size).map_err(|_error| too_large())?;
        let sum = parts.iter().try_fold(size, |sum, part| {
            sum.checked_add(usize::try_from(part.end - part.start).ok()?)
        });
        let len = NonZeroUsize::new(sum.ok_or_else(too_large)?).ok_or_else(too_large)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: the kernel chooses a place where nothing is.
        let space = unsafe { mmap_anonymous(None, len, ProtFlags::PROT_NONE, flags) }?;
        let mut window = Window {
            space,
            len: len.get(),
            parts: Vec::with_capacity(parts.len()),
        };
        let mut address = space.addr().get().next_multiple_of(size);
        for part in parts {
            window.map(file, part, address)?;
            address += window.parts.last().map_or(0, |(_, len)| *len);
        }
        Ok(window)
    }

    /// Maps one part at an address inside the space.
    fn map(&mut self, file: &File, part: &Range<u64>, address: usize) -> io::Result<()> {
        let len = usize::try_from(part.end - part.start).map_err(|_error| too_large())?;
        let (Some(place), Some(size)) = (NonZeroUsize::new(address), NonZeroUsize::new(len)) else {
            return Err(too_large());
        };
        let offset = libc::off_t::try_from(part.start).map_err(|_error| too_large())?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED;
        let prot = ProtFlags::PROT_READ;
        // SAFETY: the place lies in our own space, which has room for all parts
        // behind its first multiple of the size, and nothing refers to it.
        let start = unsafe { mmap(Some(place), size, prot, flags, file, offset) }?;
        self.parts.push((start, len));
        Ok(())
    }

    /// Has the kernel map all pages, huge ones where it can. A kernel that
    /// cannot be asked so has no huge pages in its page cache either.
    ///
    /// Nothing is read ahead: behind a part that would be small pages, also
    /// where the next part begins.
    ///
    /// # Errors
    /// `TimedOut` where reading takes longer than `limit`.
    pub(crate) fn touch(&self, limit: Duration) -> io::Result<()> {
        let start = Instant::now();
        for (address, len) in &self.parts {
            // SAFETY: the advice changes no contents of a mapping of our own.
            unsafe { madvise(*address, *len, MmapAdvise::MADV_RANDOM) }?;
            // SAFETY: as above.
            unsafe { madvise(*address, *len, MmapAdvise::MADV_HUGEPAGE) }?;
            for at in (0..*len).step_by(STEP) {
                if start.elapsed() > limit {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                // SAFETY: a place within the part, and the step ends within it.
                let (at, step) = (unsafe { address.byte_add(at) }, STEP.min(*len - at));
                // SAFETY: as above; it fails where a touch would end in a signal.
                unsafe { madvise(at, step, MmapAdvise::MADV_POPULATE_READ) }?;
            }
        }
        Ok(())
    }

    /// Has the kernel put huge pages together, where it can; what that came to
    /// is to be seen.
    pub(crate) fn collapse(&self) {
        // Since Linux 6.1; nix has no name for it.
        const MADV_COLLAPSE: libc::c_int = 25;
        for (start, len) in &self.parts {
            // SAFETY: the advice changes no contents of a mapping of our own.
            unsafe { libc::madvise(start.as_ptr(), *len, MADV_COLLAPSE) };
        }
    }

    /// The bytes of all parts.
    pub(crate) fn len(&self) -> u64 {
        self.parts.iter().map(|(_, len)| *len as u64).sum()
    }

    /// The addresses at which the parts begin.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> {
        self.parts
            .iter()
            .map(|(start, _)| start.addr().get() as u64)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the space is our own, and nothing refers to it.
        let unmapped = unsafe { munmap(self.space, self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own can be unmapped");
    }
}

/// Writes what is to be written of a part of a file, and waits for it. It is
/// not more durable than before.
pub(crate) fn write_back(file: &File, part: Range<u64>) -> io::Result<()> {
    let offset = |bytes: u64| i64::try_from(bytes).map_err(|_error| too_large());
    let (start, len) = (offset(part.start)?, offset(part.end - part.start)?);
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes numbers only.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), start, len, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const PAGE: u64 = 2 << 20;
    const LONG: Duration = Duration::from_secs(60);

    fn file(pages: u64) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let bytes = vec![7; usize::try_from(pages * PAGE).unwrap()];
        file.write_all(&bytes).unwrap();
        file
    }

    fn one(file: &File, part: Range<u64>) -> io::Result<Window> {
        Window::new(file, std::slice::from_ref(&part), PAGE)
    }

    #[test]
    fn parts_are_mapped_at_multiples_of_the_page() {
        let file = file(4);
        let window = Window::new(&file, &[PAGE..2 * PAGE, 3 * PAGE..4 * PAGE], PAGE).unwrap();
        let starts: Vec<u64> = window.starts().collect();
        assert_eq!(starts.len(), 2);
        assert!(starts.iter().all(|start| start % PAGE == 0));
        assert_eq!(starts[1] - starts[0], PAGE);
        window.touch(LONG).unwrap();
        write_back(&file, 0..PAGE).unwrap();
    }

    #[test]
    fn reading_ends_when_it_takes_too_long() {
        let file = file(1);
        let late = one(&file, 0..PAGE).unwrap().touch(Duration::ZERO);
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_is_not_in_the_file_is_an_error_and_no_signal() {
        let file = file(1);
        let window = one(&file, 0..PAGE).unwrap();
        file.set_len(0).unwrap();
        assert!(window.touch(LONG).is_err());
        assert!(one(&file, 0..u64::MAX - PAGE).is_err());
        let huge = (1 << 62)..(1 << 62) + PAGE;
        assert!(one(&file, huge).is_ok_and(|window| window.touch(LONG).is_err()));
    }
}
