//! The page of shared memory to which the library in a program writes its report.
#![expect(unsafe_code, reason = "maps memory that other processes write to")]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use hugetools_contract::report_page::{HEAD_LEN, LEN, Page, TEXT_LEN};
use hugetools_contract::segment::WATCHER_PAGE;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

/// The page, mapped until this process ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportPage(NonNull<u8>);

impl ReportPage {
    /// Creates an empty page, and its descriptor.
    pub(crate) fn new() -> io::Result<(ReportPage, OwnedFd)> {
        let name = std::ffi::CString::new(WATCHER_PAGE)?;
        let file =
            nix::sys::memfd::memfd_create(name.as_c_str(), nix::sys::memfd::MFdFlags::MFD_CLOEXEC)?;
        let len = libc::off_t::try_from(LEN).map_err(io::Error::other)?;
        nix::unistd::ftruncate(&file, len)?;
        Ok((ReportPage(map(&file, LEN)?), file))
    }

    pub(crate) fn page<'p>(self) -> &'p Page {
        let page = self.0.cast::<Page>();
        // SAFETY: the mapping is never removed and longer than the page, which consists of
        // atomic numbers: any value is valid.
        unsafe { page.as_ref() }
    }

    /// Returns a copy of the report, which follows the page.
    pub(crate) fn text(self) -> Vec<u8> {
        let mut text = vec![0; self.page().text_len().min(TEXT_LEN)];
        // SAFETY: the report lies inside the mapping.
        let from = unsafe { self.0.as_ptr().add(HEAD_LEN) };
        // SAFETY: both have this length and don't overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, text.as_mut_ptr(), text.len()) };
        text
    }
}

/// Maps a file, shared, until this process ends.
fn map(file: impl AsFd, len: usize) -> io::Result<NonNull<u8>> {
    let len = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses a free range.
    let at = unsafe { mmap(None, len, prot, MapFlags::MAP_SHARED, file, 0) }?;
    Ok(at.cast())
}
