//! Messages that the kernel hands over in parts: what each call names is laid out once more
//! in a room of ours, and goes from there to where the program wants it.
#![expect(unsafe_code, reason = "copies what the kernel has filled")]

use core::ffi::{c_int, c_uint};
use core::ops::Range;
use core::ptr;

use hugetools_pages::extent::index;
use hugetools_pages::migrate::retry;
use hugetools_pages::rt::side_room::SideRoom;
use hugetools_pages::sys;
use libc::{iovec, mmsghdr, msghdr, sockaddr_storage};

use crate::kernel_writes::buffers::{can_be_read, half, of_message, range, ranges};

/// So many at once does the kernel take (`UIO_MAXIOV`).
const MOST_MESSAGES: usize = 1024;

/// What a part begins at a multiple of.
const ALIGNMENT: usize = 16;

/// Buffers of one call that the kernel fills elsewhere.
pub(crate) struct Messages {
    /// The program's headers.
    first: usize,
    count: usize,
    /// From one header to the next.
    stride: usize,
    room: SideRoom,
}

/// Where the next part of a room begins.
struct Layout {
    rest: Range<usize>,
}

impl Layout {
    /// So many bytes; `None` where there are no more so many.
    fn take(&mut self, len: usize) -> Option<usize> {
        let at = self.rest.start;
        let len = len.checked_next_multiple_of(ALIGNMENT)?;
        let is_there = len <= self.rest.len();
        self.rest.start += if is_there { len } else { 0 };
        is_there.then_some(at)
    }
}

impl Messages {
    /// The message of `recvmsg(2)`; `None` where the kernel is to fill it itself.
    ///
    /// # Safety
    /// As the call says.
    #[inline]
    pub(crate) unsafe fn one(header: *mut msghdr) -> Option<Messages> {
        if !retry::may_fail() {
            return None;
        }
        // SAFETY: as the caller says.
        unsafe { Messages::elsewhere(header as usize, 1, size_of::<msghdr>()) }
    }

    /// Those of `recvmmsg(2)`.
    ///
    /// # Safety
    /// As the call says.
    #[inline]
    pub(crate) unsafe fn several(headers: *mut mmsghdr, count: usize) -> Option<Messages> {
        if !retry::may_fail() {
            return None;
        }
        // SAFETY: as the caller says.
        unsafe { Messages::elsewhere(headers as usize, count, size_of::<mmsghdr>()) }
    }

    /// Those of a read from a file, where it has nothing to hand over once unless it is a
    /// special one.
    ///
    /// # Safety
    /// As the call says.
    #[inline]
    pub(crate) unsafe fn of_file(file: c_int, header: *mut msghdr) -> Option<Messages> {
        if !retry::may_fail() || sys::is_plain_file(file) {
            return None;
        }
        // SAFETY: as the caller says.
        unsafe { Messages::one(header) }
    }

    #[cold]
    unsafe fn elsewhere(first: usize, count: usize, stride: usize) -> Option<Messages> {
        if first == 0 {
            return None;
        }
        let count = count.min(MOST_MESSAGES);
        let header = |at: usize| (first + at * stride) as *const msghdr;
        // SAFETY: as the caller says.
        let count = (0..count)
            .take_while(|at| unsafe { is_whole(header(*at)) })
            .count();
        // SAFETY: as was seen just now.
        if !(0..count).any(|at| unsafe { meets(header(at)) }) {
            return None;
        }
        let len = count * stride;
        // SAFETY: likewise.
        let parts = (0..count).map(|at| unsafe { len_elsewhere(header(at)) });
        let room = SideRoom::take(parts.fold(aligned(len), usize::saturating_add))?;
        let mut layout = Layout {
            rest: range(room.base(), room.size()),
        };
        layout.take(len)?;
        // SAFETY: as the caller says; there is room for them.
        unsafe { ptr::copy_nonoverlapping(first as *const u8, room.base() as *mut u8, len) };
        for at in 0..count {
            let header = (room.base() + at * stride) as *mut msghdr;
            // SAFETY: copied just now.
            let header = unsafe { &mut *header };
            // SAFETY: likewise.
            unsafe { lead_elsewhere(header, &mut layout) }?;
        }
        Some(Messages {
            first,
            count,
            stride,
            room,
        })
    }

    /// What the call is given.
    pub(crate) fn given<T>(&self) -> *mut T {
        self.room.base() as *mut T
    }

    /// How many of the program's there are.
    pub(crate) fn count(&self) -> c_uint {
        c_uint::try_from(self.count).unwrap_or(c_uint::MAX)
    }

    /// What a call is given that takes the buffers of the first one alone.
    pub(crate) fn vector(&self) -> *const iovec {
        // SAFETY: laid out by `elsewhere`.
        unsafe { (*self.given::<msghdr>()).msg_iov }
    }

    /// Hands over the message that `recvmsg(2)` has got so many bytes of.
    ///
    /// # Safety
    /// The call must have been made.
    pub(crate) unsafe fn hand_over(&self, got: isize) {
        if let Ok(len) = usize::try_from(got) {
            // SAFETY: as the caller says.
            unsafe { self.hand_over_one(0, len) };
        }
    }

    /// Hands over so many messages of `recvmmsg(2)`.
    ///
    /// # Safety
    /// The call must have been made.
    pub(crate) unsafe fn hand_over_all(&self, got: c_int) {
        let got = usize::try_from(got).unwrap_or(0);
        for at in 0..got.min(self.count) {
            let copy = (self.room.base() + at * self.stride) as *const mmsghdr;
            let header = (self.first + at * self.stride) as *mut mmsghdr;
            // SAFETY: the kernel has written it.
            let len = unsafe { (*copy).msg_len };
            // SAFETY: as the caller says.
            unsafe { self.hand_over_one(at, len as usize) };
            // SAFETY: the program's.
            unsafe { (*header).msg_len = len };
        }
    }

    unsafe fn hand_over_one(&self, at: usize, len: usize) {
        let copy = (self.room.base() + at * self.stride) as *const msghdr;
        let header = (self.first + at * self.stride) as *mut msghdr;
        // SAFETY: made by `elsewhere`, and the kernel has filled it.
        let mut copy = unsafe { copy.read() };
        // SAFETY: as the program gave it.
        let own = unsafe { header.read() };
        // SAFETY: the data are the only vector of the copy.
        let data = unsafe { *copy.msg_iov };
        let most = len.min(data.iov_len);
        // SAFETY: as the program says; so much the kernel has filled.
        unsafe { scatter(data.iov_base as usize, most, &own) };
        let parts = [
            (
                copy.msg_name,
                own.msg_name,
                copy.msg_namelen.min(own.msg_namelen) as usize,
            ),
            (
                copy.msg_control,
                own.msg_control,
                half(copy.msg_controllen).min(half(own.msg_controllen)),
            ),
        ];
        for (from, to, len) in parts.into_iter().filter(|(_, to, _)| !to.is_null()) {
            // SAFETY: likewise.
            unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), len) };
        }
        (copy.msg_name, copy.msg_control) = (own.msg_name, own.msg_control);
        (copy.msg_iov, copy.msg_iovlen) = (own.msg_iov, own.msg_iovlen);
        // SAFETY: the program's.
        unsafe { header.write(copy) };
    }
}

/// The header of a message that has nothing but these buffers, as `readv(2)` fills them.
pub(crate) fn of_vectors(vectors: *const iovec, count: c_int) -> msghdr {
    // SAFETY: all bits zero are a header without anything.
    let mut header: msghdr = unsafe { core::mem::zeroed() };
    header.msg_iov = vectors.cast_mut();
    header.msg_iovlen = usize::try_from(count).unwrap_or(0);
    header
}

/// Whether all can be read that a header names. What comes after one of which not all can
/// be the kernel does not take either.
///
/// # Safety
/// As the call says.
unsafe fn is_whole(header: *const msghdr) -> bool {
    if !can_be_read(&range(header as usize, size_of::<msghdr>())) {
        return false;
    }
    // SAFETY: it can be read.
    let header = unsafe { header.read() };
    let count = half(header.msg_iovlen);
    let vectors = range(
        header.msg_iov as usize,
        count.saturating_mul(size_of::<iovec>()),
    );
    let address = range(
        header.msg_name as usize,
        usize::from(!header.msg_name.is_null()),
    );
    // SAFETY: as the caller says.
    let mut buffers = unsafe { of_message(&raw const header) };
    can_be_read(&vectors) && can_be_read(&address) && buffers.all(|buffer| can_be_read(&buffer))
}

/// Whether the kernel would write to memory of ours.
///
/// # Safety
/// It must be a message.
unsafe fn meets(header: *const msghdr) -> bool {
    // SAFETY: as the caller says.
    let name = unsafe { (*header).msg_name };
    // SAFETY: likewise.
    let mut buffers = unsafe { of_message(header) };
    let is_ours = |buffer: Range<usize>| !buffer.is_empty() && index::holds(buffer.start);
    index::holds(header as usize) || index::holds(name as usize) || buffers.any(is_ours)
}

/// How much room the parts of a message take that [`lead_elsewhere`] lays out.
///
/// # Safety
/// It must be a message.
unsafe fn len_elsewhere(header: *const msghdr) -> usize {
    // SAFETY: as the caller says.
    let header = unsafe { &*header };
    // SAFETY: likewise.
    let vectors = unsafe { ranges(header.msg_iov, half(header.msg_iovlen)) };
    let data = vectors.fold(0_usize, |sum, vector| sum.saturating_add(vector.len()));
    let others = [
        size_of::<iovec>(),
        size_of::<sockaddr_storage>(),
        half(header.msg_controllen),
    ];
    let parts = others.map(aligned);
    parts.into_iter().fold(aligned(data), usize::saturating_add)
}

/// With what is left free before the next part.
fn aligned(len: usize) -> usize {
    len.checked_next_multiple_of(ALIGNMENT)
        .unwrap_or(usize::MAX)
}

/// Has a header name parts of a room in the place of the program's.
///
/// # Safety
/// It must be a copy of the program's.
unsafe fn lead_elsewhere(header: &mut msghdr, layout: &mut Layout) -> Option<()> {
    // SAFETY: as the caller says.
    let vectors = unsafe { ranges(header.msg_iov, half(header.msg_iovlen)) };
    let len = vectors.fold(0_usize, |sum, vector| sum.saturating_add(vector.len()));
    let vector = layout.take(size_of::<iovec>())? as *mut iovec;
    let data = iovec {
        iov_base: layout.take(len)? as *mut _,
        iov_len: len,
    };
    // SAFETY: it is part of the room.
    unsafe { vector.write(data) };
    (header.msg_iov, header.msg_iovlen) = (vector, 1);
    if !header.msg_name.is_null() {
        header.msg_name = layout.take(size_of::<sockaddr_storage>())? as *mut _;
    }
    if !header.msg_control.is_null() {
        header.msg_control = layout.take(half(header.msg_controllen))? as *mut _;
    }
    Some(())
}

/// Spreads what has come over the buffers of a message.
///
/// # Safety
/// They must be the program's to write.
unsafe fn scatter(mut from: usize, mut len: usize, header: &msghdr) {
    // SAFETY: as the caller says.
    for vector in unsafe { ranges(header.msg_iov, half(header.msg_iovlen)) } {
        let part = vector.len().min(len);
        // SAFETY: likewise.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, vector.start as *mut u8, part) };
        (from, len) = (from + part, len - part);
    }
}
