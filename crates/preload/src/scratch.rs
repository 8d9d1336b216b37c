//! Memory for the report: mapped, used once, and as a rule never given back,
//! since the program is about to end.
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

/// So many bytes, all zero; only what is used of them takes memory.
pub(crate) fn bytes(len: usize) -> Option<&'static mut [u8]> {
    let at = map(len)? as *mut u8;
    // SAFETY: a new mapping of that length, which is zero, and nobody else's.
    Some(unsafe { core::slice::from_raw_parts_mut(at, len) })
}

/// The whole contents of a file of unknown length.
pub(crate) fn read(path: &CStr) -> Option<&'static [u8]> {
    let (buffer, filled) = fill(path)?;
    Some(&buffer[..filled])
}

/// Looks at the whole contents of a file once, and gives their memory back.
pub(crate) fn look<T>(path: &CStr, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let (buffer, filled) = fill(path)?;
    let result = look(&buffer[..filled]);
    give_back(buffer);
    Some(result)
}

/// A buffer with the whole contents of a file, and how many bytes they are.
fn fill(path: &CStr) -> Option<(&'static mut [u8], usize)> {
    let mut len = 256 << 10;
    loop {
        let buffer = bytes(len)?;
        match fill_from(path, buffer) {
            Some(filled) if filled < len => return Some((buffer, filled)),
            Some(_) => len = len.checked_mul(4)?,
            None => {
                give_back(buffer);
                return None;
            }
        }
        give_back(buffer);
    }
}

fn fill_from(path: &CStr, buffer: &mut [u8]) -> Option<usize> {
    let file = File::open(path, libc::O_RDONLY).ok()?;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(_) => return None,
        }
    }
    Some(filled)
}

fn give_back(buffer: &'static mut [u8]) {
    // SAFETY: a mapping from its beginning to its end, and nobody has it any more.
    let _ = unsafe { sys::munmap(buffer.as_mut_ptr() as usize, buffer.len()) };
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
            room: bytes(len)?,
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
