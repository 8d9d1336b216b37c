//! Memory for the report: mapped, used once, never given back, since the
//! program is about to end.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use core::ffi::CStr;
use core::fmt;
use core::mem::MaybeUninit;

use hugetools_pages::sys::{self, File};

/// A mapping of `len` zero bytes; `None` where there is no memory.
fn map(len: usize) -> Option<usize> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }.ok()
}

/// Room for `count` values, each a copy of `value`.
pub(crate) fn values<T: Copy + 'static>(count: usize, value: T) -> Option<&'static mut [T]> {
    let at = map(count.checked_mul(size_of::<T>())?)? as *mut MaybeUninit<T>;
    // SAFETY: a new mapping of that length, page aligned, that nobody else has.
    let places = unsafe { core::slice::from_raw_parts_mut(at, count) };
    for place in &mut *places {
        place.write(value);
    }
    let values = core::ptr::from_mut(places) as *mut [T];
    // SAFETY: all of them were written.
    Some(unsafe { &mut *values })
}

/// The whole contents of a file of unknown length.
pub(crate) fn read(path: &CStr) -> Option<&'static [u8]> {
    let mut len = 256 << 10;
    loop {
        let buffer = values(len, 0u8)?;
        let file = File::open(path, libc::O_RDONLY).ok()?;
        let mut filled = 0;
        while filled < len {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => return Some(&buffer[..filled]),
                Ok(read) => filled += read,
                Err(_) => return None,
            }
        }
        // SAFETY: mapped just now and not handed out.
        let _ = unsafe { sys::munmap(buffer.as_ptr() as usize, len) };
        len = len.checked_mul(4)?;
    }
}

/// Text that grows within a fixed room; what does not fit is an error.
pub(crate) struct Text {
    room: &'static mut [u8],
    len: usize,
}

impl Text {
    /// An empty text with room for `len` bytes.
    pub(crate) fn with_room(len: usize) -> Option<Text> {
        Some(Text {
            room: values(len, 0)?,
            len: 0,
        })
    }

    /// What was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.checked_add(text.len()).ok_or(fmt::Error)?;
        let place = self.room.get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
