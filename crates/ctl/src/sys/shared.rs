//! The page that hugectl shares with a program whose report it prints, and the file in which
//! starts are entered.
#![expect(unsafe_code, reason = "maps memory that other processes write to")]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use hugetools_contract::ledger::{self, Ledger};
use hugetools_contract::report_page::{HEAD_LEN, LEN, Page, TEXT_LEN};
use hugetools_contract::segment::WATCHER_PAGE;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

/// The page, mapped for as long as this process lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared(NonNull<u8>);

impl Shared {
    /// A new page, empty, and its descriptor.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(crate) fn new() -> io::Result<(Shared, OwnedFd)> {
        let name = std::ffi::CString::new(WATCHER_PAGE)?;
        let file =
            nix::sys::memfd::memfd_create(name.as_c_str(), nix::sys::memfd::MFdFlags::MFD_CLOEXEC)?;
        let len = libc::off_t::try_from(LEN).map_err(io::Error::other)?;
        nix::unistd::ftruncate(&file, len)?;
        let len = NonZeroUsize::new(LEN).ok_or(io::ErrorKind::InvalidInput)?;
        let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a place where nothing is.
        let at = unsafe { mmap(None, len, prot, MapFlags::MAP_SHARED, &file, 0) }?;
        Ok((Shared(at.cast()), file))
    }

    /// The page itself.
    pub(crate) fn page<'p>(self) -> &'p Page {
        let page = self.0.cast::<Page>();
        // SAFETY: mapped for ever, longer than the page, which is all atomic numbers, which
        // may have any value.
        unsafe { page.as_ref() }
    }

    /// A copy of the report behind it.
    pub(crate) fn text(self) -> Vec<u8> {
        let mut text = vec![0; self.page().text_len().min(TEXT_LEN)];
        // SAFETY: the room for it is inside of the mapping.
        let from = unsafe { self.0.as_ptr().add(HEAD_LEN) };
        // SAFETY: as long as that, and the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, text.as_mut_ptr(), text.len()) };
        text
    }
}

/// The file in which starts are entered, which is as long; mapped for as long as this
/// process lives.
///
/// # Errors
/// Where it cannot be mapped.
pub(crate) fn ledger(file: &std::fs::File) -> io::Result<&'static Ledger> {
    let len = NonZeroUsize::new(ledger::LEN).ok_or(io::ErrorKind::InvalidInput)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses a place where nothing is.
    let at = unsafe { mmap(None, len, prot, MapFlags::MAP_SHARED, file, 0) }?;
    // SAFETY: mapped for ever, of this length; all of it are atomic numbers, which may have
    // any value.
    Ok(unsafe { at.cast::<Ledger>().as_ref() })
}
