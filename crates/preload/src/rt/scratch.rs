//! Memory for the report: mapped, used once, and as a rule never given back,
//! since the program is about to end.
#![expect(unsafe_code, reason = "hands out mapped memory")]

use core::ffi::CStr;
use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::sys::{self, File};

/// A mapping from which small pieces are taken: each call of the kernel takes time, and
/// many processes that report are gone after a millisecond. Where it is, 0 as long as
/// there is none, and what of it is taken.
static SHELF: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
const SHELF_LEN: usize = 192 << 10;

/// Each piece begins at a multiple of this.
const ALIGNED: usize = 64;

/// What is no larger is taken from there.
const SMALL: usize = 64 << 10;

/// Zero bytes, `len` of them, that nobody has; `None` where there is no memory.
fn place(len: usize) -> Option<usize> {
    if len > SMALL {
        return map(len);
    }
    let len = len.next_multiple_of(ALIGNED);
    let take = |taken: usize| Some(taken + len).filter(|taken| *taken <= SHELF_LEN);
    let shelf = shelf()?;
    match TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
        Ok(before) => Some(shelf + before),
        Err(_) => map(len),
    }
}

fn shelf() -> Option<usize> {
    let found = SHELF.load(Ordering::Acquire);
    if found != 0 {
        return Some(found);
    }
    let new = map(SHELF_LEN)?;
    match SHELF.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(new),
        Err(other) => {
            unmap(new, SHELF_LEN);
            Some(other)
        }
    }
}

/// A mapping of `len` zero bytes; `None` where there is no memory.
fn map(len: usize) -> Option<usize> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }.ok()
}

/// Room for `count` values, each a copy of `value`.
pub(crate) fn values<T: Copy + 'static>(count: usize, value: T) -> Option<&'static mut [T]> {
    let at = place(count.checked_mul(size_of::<T>())?)? as *mut MaybeUninit<T>;
    // SAFETY: memory of that length, aligned for all types, that nobody else has.
    let places = unsafe { core::slice::from_raw_parts_mut(at, count) };
    for place in &mut *places {
        place.write(value);
    }
    let values = core::ptr::from_mut(places) as *mut [T];
    // SAFETY: all of them were written.
    Some(unsafe { &mut *values })
}

/// Values that are added one by one; only those that there are take memory.
pub(crate) struct List<T: Copy + 'static> {
    places: &'static mut [MaybeUninit<T>],
    len: usize,
}

impl<T: Copy + 'static> List<T> {
    /// An empty list with room for `count`.
    pub(crate) fn with_room(count: usize) -> Option<List<T>> {
        let at = place(count.checked_mul(size_of::<T>())?)? as *mut MaybeUninit<T>;
        // SAFETY: memory of that length, aligned for all types, that nobody else has.
        let places = unsafe { core::slice::from_raw_parts_mut(at, count) };
        Some(List { places, len: 0 })
    }

    /// Adds a value, if there is room.
    pub(crate) fn push(&mut self, value: T) {
        if let Some(place) = self.places.get_mut(self.len) {
            place.write(value);
            self.len += 1;
        }
    }

    /// Those that there are.
    pub(crate) fn all(&self) -> &[T] {
        let there = core::ptr::from_ref(&self.places[..self.len]) as *const [T];
        // SAFETY: so many were written.
        unsafe { &*there }
    }
}

/// So many bytes, all zero; only what is used of them takes memory.
pub(crate) fn bytes(len: usize) -> Option<&'static mut [u8]> {
    let at = place(len)? as *mut u8;
    // SAFETY: memory of that length, which is zero, and nobody else's.
    Some(unsafe { core::slice::from_raw_parts_mut(at, len) })
}

/// The whole contents of a file of unknown length.
pub(crate) fn read(path: &CStr) -> Option<&'static [u8]> {
    let (buffer, filled) = fill(|buffer| fill_by_name(path, buffer))?;
    Some(&buffer[..filled])
}

/// The same of a file that is short as a rule.
pub(crate) fn read_short(path: &CStr) -> Option<&'static [u8]> {
    let buffer = bytes(16 << 10)?;
    let filled = fill_by_name(path, buffer)?;
    match filled < buffer.len() {
        true => Some(keep_first(buffer, filled)),
        false => read(path),
    }
}

/// Where a symbolic link leads.
pub(crate) fn link(path: &CStr) -> Option<&'static [u8]> {
    let buffer = bytes(4096)?;
    let len = sys::read_link(path, buffer).ok()?;
    Some(keep_first(buffer, len))
}

/// Keeps the first bytes of what was taken last; the next to take some has what is behind
/// them, where nobody has written: each page that is used takes time.
pub(crate) fn keep_first(buffer: &'static mut [u8], used: usize) -> &'static [u8] {
    let used = used.min(buffer.len());
    let kept = used.next_multiple_of(ALIGNED).min(buffer.len());
    let shelf = SHELF.load(Ordering::Acquire);
    let behind = |len: usize| (buffer.as_ptr() as usize + len).wrapping_sub(shelf);
    let (kept, all) = (behind(kept), behind(buffer.len()));
    if all <= SHELF_LEN && kept < all {
        // Not where somebody has taken more meanwhile.
        let _ = TAKEN.compare_exchange(all, kept, Ordering::AcqRel, Ordering::Relaxed);
    }
    &buffer[..used]
}

/// Looks at the whole contents of a file once, and gives their memory back.
pub(crate) fn look<T>(path: &CStr, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let (buffer, filled) = fill(|buffer| fill_by_name(path, buffer))?;
    let result = look(&buffer[..filled]);
    give_back(buffer);
    Some(result)
}

/// A buffer with the whole contents of a file, and how many bytes they are.
fn fill(from: impl Fn(&mut [u8]) -> Option<usize>) -> Option<(&'static mut [u8], usize)> {
    let mut len = 256 << 10;
    loop {
        let buffer = bytes(len)?;
        match from(buffer) {
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

fn fill_by_name(path: &CStr, buffer: &mut [u8]) -> Option<usize> {
    let file = File::open(path, libc::O_RDONLY).ok()?;
    fill_from(&file, buffer)
}

/// From the beginning, wherever it was read to.
fn fill_from(file: &File, buffer: &mut [u8]) -> Option<usize> {
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

fn unmap(at: usize, len: usize) {
    // SAFETY: a mapping from its beginning to its end, and nobody has it any more.
    let _ = unsafe { sys::munmap(at, len) };
}

/// Gives back what [`fill`] has: larger than what is taken from the shelf.
fn give_back(buffer: &'static mut [u8]) {
    unmap(buffer.as_mut_ptr() as usize, buffer.len());
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
