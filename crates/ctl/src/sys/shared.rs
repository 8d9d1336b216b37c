//! The memory that the watcher of a report shares with the libraries, and the file in which
//! starts are entered.
#![expect(unsafe_code, reason = "maps memory that other processes write to")]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use hugetools_contract::said::{self, Ledger};
use hugetools_contract::segment::WATCHER_PAGE;
use hugetools_contract::watch::{LEN, Page, TEXT_LEN, text_at};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

/// The memory, mapped for as long as this process lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared(NonNull<u8>);

impl Shared {
    /// New memory, empty, and its descriptor.
    ///
    /// # Errors
    /// Where there is none to be had.
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

    /// The slots.
    pub(crate) fn page<'p>(self) -> &'p Page {
        let page = self.0.cast::<Page>();
        // SAFETY: mapped for ever, longer than the slots, which are all atomic
        // numbers, which may have any value.
        unsafe { page.as_ref() }
    }

    /// A copy of what a slot's text is.
    pub(crate) fn text(self, slot: usize, len: usize) -> Vec<u8> {
        let mut text = vec![0; len.min(TEXT_LEN)];
        // SAFETY: a slot of the page, whose text is inside of the mapping.
        let from = unsafe { self.0.as_ptr().add(text_at(slot)) };
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
    let len = NonZeroUsize::new(said::LEN).ok_or(io::ErrorKind::InvalidInput)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the kernel chooses a place where nothing is.
    let at = unsafe { mmap(None, len, prot, MapFlags::MAP_SHARED, file, 0) }?;
    // SAFETY: mapped for ever, of this length; all of it are atomic numbers, which may have
    // any value.
    Ok(unsafe { at.cast::<Ledger>().as_ref() })
}
