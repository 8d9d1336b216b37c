//! Memory for a report: mapped, and mostly never unmapped, since the program is about to end.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use core::ffi::CStr;
use core::fmt;
use core::mem::MaybeUninit;

use hugetools_pages::sys::{self, File};

/// Maps `count` copies of a value.
pub(crate) fn values<T: Copy + 'static>(count: usize, value: T) -> Option<&'static mut [T]> {
    let at = sys::map_new(count.checked_mul(size_of::<T>())?).ok()? as *mut MaybeUninit<T>;
    // SAFETY: a new mapping of that length.
    let places = unsafe { core::slice::from_raw_parts_mut(at, count) };
    for place in &mut *places {
        place.write(value);
    }
    let values = core::ptr::from_mut(places) as *mut [T];
    // SAFETY: all were written.
    Some(unsafe { &mut *values })
}

/// Maps `len` zero bytes.
pub(crate) fn bytes(len: usize) -> Option<&'static mut [u8]> {
    let at = sys::map_new(len).ok()? as *mut u8;
    // SAFETY: a new mapping of that length.
    Some(unsafe { core::slice::from_raw_parts_mut(at, len) })
}

pub(crate) fn read(path: &CStr) -> Option<&'static [u8]> {
    let (buffer, filled) = whole(path)?;
    Some(&buffer[..filled])
}

/// Reads a symbolic link.
pub(crate) fn link(path: &CStr) -> Option<&'static [u8]> {
    let buffer = bytes(4096)?;
    let len = sys::read_link(path, buffer).ok()?;
    Some(&buffer[..len])
}

/// Reads a file, calls `read` with its contents, and unmaps them.
pub(crate) fn with_file<T>(path: &CStr, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let (buffer, filled) = whole(path)?;
    let result = read(&buffer[..filled]);
    unmap(buffer);
    Some(result)
}

/// Reads a file; returns the mapped buffer and the file's length.
fn whole(path: &CStr) -> Option<(&'static mut [u8], usize)> {
    let mut len = 256 << 10;
    loop {
        let buffer = bytes(len)?;
        match fill(path, buffer) {
            Some(filled) if filled < len => return Some((buffer, filled)),
            Some(_) => len = len.checked_mul(4)?,
            None => {
                unmap(buffer);
                return None;
            }
        }
        unmap(buffer);
    }
}

fn fill(path: &CStr, buffer: &mut [u8]) -> Option<usize> {
    let file = File::open(path, libc::O_RDONLY).ok()?;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], filled) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(_) => return None,
        }
    }
    Some(filled)
}

fn unmap(buffer: &'static mut [u8]) {
    // SAFETY: a whole mapping, to which this is the only reference.
    let _ = unsafe { sys::munmap(buffer.as_mut_ptr() as usize, buffer.len()) };
}

/// A text of bounded length.
pub(crate) struct Text {
    room: &'static mut [u8],
    len: usize,
}

impl Text {
    /// Maps room for `len` bytes.
    pub(crate) fn with_room(len: usize) -> Option<Text> {
        Some(Text {
            room: bytes(len)?,
            len: 0,
        })
    }

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
