//! What the kernel hands over once, and then has no more: a message, the end of a child.
//! Made again such a call would give the next one. So where it is to go to memory of ours
//! the kernel fills a copy elsewhere: values always, and what may be long ([`Buffer`],
//! [`super::message`]) in processes where a call into such memory may fail at all.
#![expect(unsafe_code, reason = "copies what the kernel has filled")]

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use hugetools_pages::extent::index;
use hugetools_pages::migrate::retry;
use hugetools_pages::rt::side_room::SideRoom;
use hugetools_pages::sys;
use libc::{sockaddr_storage, socklen_t};

use crate::kernel_writes::buffers::{can_be_read, range};

/// The words of the longest value (`struct rusage`).
const LONGEST: usize = 18;

/// What the kernel fills for the program.
pub(crate) struct Filled {
    /// Where the program wants it.
    place: usize,
    /// How long it is; 0 where it is no memory of ours, and the kernel fills it itself.
    len: usize,
    /// Where the kernel writes else.
    copy: [u64; LONGEST],
}

impl Filled {
    /// So many bytes at a place of the program's, which may be null.
    pub(crate) fn at<T>(place: *mut T, len: usize) -> Filled {
        let place = place as usize;
        let is_copied = len <= size_of::<[u64; LONGEST]>() && index::holds(place);
        Filled {
            place,
            len: if is_copied { len } else { 0 },
            copy: [0; LONGEST],
        }
    }

    /// A value.
    pub(crate) fn value<T>(place: *mut T) -> Filled {
        Filled::at(place, size_of::<T>())
    }

    /// With what is there, of which the kernel leaves some as it is.
    ///
    /// # Safety
    /// Where it is memory of ours it must be readable.
    pub(crate) unsafe fn with_contents(mut self) -> Filled {
        let copy = self.copy.as_mut_ptr().cast::<u8>();
        // SAFETY: as the caller says; there is room for it.
        unsafe { ptr::copy_nonoverlapping(self.place as *const u8, copy, self.len) };
        self
    }

    /// What the kernel is given.
    pub(crate) fn given<T>(&mut self) -> *mut T {
        match self.len {
            0 => self.place as *mut T,
            _ => self.copy.as_mut_ptr().cast(),
        }
    }

    /// Hands over at most so many bytes that the kernel has filled.
    ///
    /// # Safety
    /// The place must be the program's to write.
    pub(crate) unsafe fn hand_over(&self, most: usize) {
        let (copy, len) = (self.copy.as_ptr().cast::<u8>(), self.len.min(most));
        // SAFETY: as the caller says.
        unsafe { ptr::copy_nonoverlapping(copy, self.place as *mut u8, len) };
    }
}

/// Makes a call that is given a value, which the kernel may change where it succeeds.
///
/// # Safety
/// As the call says.
pub(crate) unsafe fn copied<T, R: PartialOrd + From<i8>>(
    place: *mut T,
    call: impl FnOnce(*mut T) -> R,
) -> R {
    if place.is_null() {
        return call(place);
    }
    // SAFETY: as the caller says.
    let mut value = unsafe { Filled::value(place).with_contents() };
    let result = call(value.given());
    if result >= R::from(0) {
        // SAFETY: as the caller says.
        unsafe { value.hand_over(usize::MAX) };
    }
    result
}

/// Makes a call that fills a value no longer than any address of a socket; a word says how
/// long it may be, and then how long it is.
///
/// # Safety
/// As the call says.
pub(crate) unsafe fn with_len<R: PartialOrd + From<i8>>(
    value: *mut c_void,
    len: *mut socklen_t,
    call: impl FnOnce(*mut c_void, *mut socklen_t) -> R,
) -> R {
    let is_there = !value.is_null() && !len.is_null();
    let is_ours = || index::holds(value as usize) || index::holds(len as usize);
    if !is_there || !is_ours() || !can_be_read(&range(len as usize, size_of::<socklen_t>())) {
        return call(value, len);
    }
    // SAFETY: as the caller says.
    let most = unsafe { len.read() } as usize;
    let mut value = Filled::at(value, most.min(size_of::<sockaddr_storage>()));
    // SAFETY: as the caller says.
    let mut len = unsafe { Filled::value(len).with_contents() };
    let written: *mut socklen_t = len.given();
    let result = call(value.given(), written);
    if result >= R::from(0) {
        // SAFETY: the kernel has written it.
        let written = unsafe { written.read() } as usize;
        // SAFETY: as the caller says; so much the kernel has filled.
        unsafe { value.hand_over(written) };
        // SAFETY: likewise.
        unsafe { len.hand_over(usize::MAX) };
    }
    result
}

/// What needs no room: events, and short messages.
const SMALL: usize = 512;

/// So much is copied rather than asked whether it needs to be.
const CHEAP: usize = 4096;

/// A buffer that the kernel fills elsewhere.
pub(crate) struct Buffer {
    place: usize,
    len: usize,
    room: Option<SideRoom>,
}

impl Buffer {
    /// A buffer of a call by which something is handed over; `None` where the kernel is to
    /// fill it itself.
    #[inline]
    pub(crate) fn of(place: *mut c_void, len: usize) -> Option<Buffer> {
        if !retry::may_fail() {
            return None;
        }
        Buffer::elsewhere(place as usize, len)
    }

    /// The same, of what is read from a file, where it has nothing to hand over once unless
    /// it is a special one.
    #[inline]
    pub(crate) fn of_file(file: c_int, place: *mut c_void, len: usize) -> Option<Buffer> {
        if !retry::may_fail() || len > CHEAP && sys::is_plain_file(file) {
            return None;
        }
        Buffer::elsewhere(place as usize, len)
    }

    #[cold]
    fn elsewhere(place: usize, len: usize) -> Option<Buffer> {
        if !index::holds(place) {
            return None;
        }
        let needs_room = len > SMALL;
        let room = needs_room.then(|| SideRoom::take(len)).flatten();
        let can_be = room.is_some() || !needs_room;
        can_be.then_some(Buffer { place, len, room })
    }

    /// Has it filled by a call, which gives how many bytes there were, or more than there is
    /// room for.
    pub(crate) fn filled(self, call: impl FnOnce(*mut c_void) -> isize) -> isize {
        match &self.room {
            Some(room) => self.fill(room.base() as *mut c_void, call),
            None => {
                let mut small = [MaybeUninit::<u8>::uninit(); SMALL];
                self.fill(small.as_mut_ptr().cast(), call)
            }
        }
    }

    fn fill(&self, copy: *mut c_void, call: impl FnOnce(*mut c_void) -> isize) -> isize {
        let got = call(copy);
        let len = usize::try_from(got).map_or(0, |got| got.min(self.len));
        // SAFETY: the kernel has written so much, and would have written it there.
        unsafe { ptr::copy_nonoverlapping(copy.cast_const(), self.place as *mut c_void, len) };
        got
    }
}
