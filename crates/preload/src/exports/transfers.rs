//! The functions of libc that move data or wait for it, and say where they are: see
//! `crate::kernel_writes::buffers`, and `copies` for places in files, which count what has
//! been moved. Also those of libaio.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_uint, c_void};

use hugetools_pages::extent::index;
use hugetools_pages::rt::side_room::SideRoom;
use hugetools_pages::sys::{self, cast};
use libc::{epoll_event, iovec, mmsghdr, mqd_t, off_t, sigset_t, timespec};

use crate::kernel_writes::buffers::{
    again, again_at, again_for, array, can_be_read, filled_each, one, range, ranges,
};
use crate::kernel_writes::copies::copied;
use crate::kernel_writes::message::{self, Messages};
use crate::kernel_writes::tables::{made_again, made_again_by_number, next_of_many};
use crate::next::call::{Answer, NO_CALL, Word, from_kernel, next, next_of_another};
use crate::next::following::Following;
use crate::signals::masks::with_mask;

/// The longest of what `msgctl(2)` and `mq_getattr(3)` fill.
const ANSWER: usize = 128;

/// The bytes of the kernel's set of signals.
const SIGNALS: usize = 8;

/// `epoll_pwait(2)` and its kin, which differ in how they are told the time.
macro_rules! epoll_as {
    ($(#[$about:meta])+ $name:ident, $text:literal, $time:ty, $number:expr) => {
        $(#[$about])+
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            file: c_int,
            events: *mut epoll_event,
            most: c_int,
            timeout: $time,
            signals: *const sigset_t,
        ) -> c_int {
            let call = |signals| {
                again_for(
                    || [array(events, most)],
                    || {
                        next!(
                            $text,
                            fn(c_int, *mut epoll_event, c_int, $time, *const sigset_t) -> c_int,
                            (file, events, most, timeout, signals),
                            else {
                                let (at, set) = (events as usize, signals as usize);
                                let (most, time) = (most.word(), timeout.word());
                                let words = [file.word(), at, most, time, set, SIGNALS];
                                c_int::of(from_kernel($number, &words))
                            }
                        )
                    },
                )
            };
            // SAFETY: as the caller says.
            unsafe { with_mask(signals, call) }
        }
    };
}

epoll_as! {
    /// `epoll_pwait(2)`
    epoll_pwait, c"epoll_pwait", c_int, libc::SYS_epoll_pwait
}
epoll_as! {
    /// `epoll_pwait2(2)`
    epoll_pwait2, c"epoll_pwait2", *const timespec, libc::SYS_epoll_pwait2
}

made_again! {
    /// `msgctl(2)`
    msgctl, c"msgctl", (queue: c_int, command: c_int, about: *mut c_void) -> c_int,
        NO_CALL, [range(about as usize, ANSWER)];
    /// `mq_getattr(3)`
    mq_getattr, c"mq_getattr", (queue: mqd_t, about: *mut c_void) -> c_int,
        NO_CALL, [range(about as usize, ANSWER)];
    /// `getentropy(3)`
    getentropy, c"getentropy", (buffer: *mut c_void, len: usize) -> c_int,
        NO_CALL, [range(buffer as usize, len)];
}

made_again_by_number! {
    /// `io_getevents(2)` of libaio.
    io_getevents, c"io_getevents",
        (context: usize, least: i64, most: i64, events: *mut [u64; 4], timeout: *const timespec),
        -libc::EFAULT, [array(events, c_int::try_from(most).unwrap_or(0))];
    /// `io_setup(2)` of libaio.
    io_setup, c"io_setup", (most: c_int, context: *mut usize), -libc::EFAULT, [one(context)];
}

/// `io_pgetevents(2)` of libaio.
///
/// # Safety
/// As libaio's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn io_pgetevents(
    context: usize,
    least: i64,
    most: i64,
    events: *mut [u64; 4],
    timeout: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    let call = |signals| {
        let buffers = || [array(events, c_int::try_from(most).unwrap_or(0))];
        again_at(-libc::EFAULT, buffers, || {
            next!(
                c"io_pgetevents",
                fn(usize, i64, i64, *mut [u64; 4], *const timespec, *const sigset_t) -> c_int,
                (context, least, most, events, timeout, signals),
                else { -libc::ENOSYS }
            )
        })
    };
    // SAFETY: as the caller says.
    unsafe { with_mask(signals, call) }
}

/// `sendfile(2)`, by its names.
macro_rules! sendfile_as {
    ($name:ident, $text:literal) => {
        /// `sendfile(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            to: c_int,
            from: c_int,
            place: *mut off_t,
            len: usize,
        ) -> isize {
            let call = |place| {
                next!(
                    $text,
                    fn(c_int, c_int, *mut off_t, usize) -> isize,
                    NO_CALL,
                    (to, from, place, len)
                )
            };
            // SAFETY: as the caller says.
            unsafe { copied(place, call) }
        }
    };
}

sendfile_as!(sendfile, c"sendfile");
sendfile_as!(sendfile64, c"sendfile64");

/// What moves data from one place to another. The names are GNU's: a library of the program's
/// may have such functions, which get their arguments whole.
macro_rules! from_place_to_place {
    ($(#[$about:meta])+ $name:ident, $text:literal) => {
        $(#[$about])+
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            from: usize,
            from_place: *mut i64,
            to: usize,
            to_place: *mut i64,
            len: usize,
            flags: usize,
        ) -> isize {
            const NEXT: Following = Following::named($text);
            let (first, second) = (from_place as usize, to_place as usize);
            let other = next_of_another!(NEXT, (from, first, to, second, len, flags));
            if let Some(result) = other {
                return result;
            }
            let [from, to, flags] = [from, to, flags].map(cast::int);
            let call = |from_place, to_place| {
                next!(
                    $text,
                    fn(c_int, *mut i64, c_int, *mut i64, usize, c_int) -> isize,
                    NO_CALL,
                    (from, from_place, to, to_place, len, flags)
                )
            };
            // SAFETY: as the caller says.
            let with_from = |to_place| unsafe { copied(from_place, |from| call(from, to_place)) };
            // SAFETY: likewise.
            unsafe { copied(to_place, with_from) }
        }
    };
}

from_place_to_place! {
    /// `splice(2)`
    splice, c"splice"
}
from_place_to_place! {
    /// `copy_file_range(2)`
    copy_file_range, c"copy_file_range"
}

/// `vmsplice(2)`, which takes from a pipe, too.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmsplice(
    pipe: c_int,
    vectors: *const iovec,
    count: usize,
    flags: c_uint,
) -> isize {
    // SAFETY: as the caller says.
    let buffers = || unsafe { ranges(vectors, count) };
    again(buffers, || {
        next!(
            c"vmsplice",
            fn(c_int, *const iovec, usize, c_uint) -> isize,
            NO_CALL,
            (pipe, vectors, count, flags)
        )
    })
}

/// `preadv2(2)`, by its names.
macro_rules! preadv2_as {
    ($name:ident, $text:literal) => {
        /// `preadv2(2)`, by one of its names; it may read on where the file is, as `readv(2)`.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            file: c_int,
            vectors: *const iovec,
            count: c_int,
            place: off_t,
            flags: c_int,
        ) -> isize {
            let call = |vectors, count, done| {
                let place = match place {
                    // On from where the file is.
                    -1 => place,
                    place => place.saturating_add(cast::offset(done)),
                };
                next!(
                    $text,
                    fn(c_int, *const iovec, c_int, off_t, c_int) -> isize,
                    (file, vectors, count, place, flags),
                    else {
                        // The kernel takes a place in two words.
                        let (at, place) = (vectors as usize, place.word());
                        let words = [file.word(), at, count.word(), place, 0, flags.word()];
                        from_kernel(libc::SYS_preadv2, &words)
                    }
                )
            };
            let mut header = message::of_vectors(vectors, count);
            // SAFETY: as the caller says.
            if let Some(copies) = unsafe { Messages::of_file(file, &raw mut header) } {
                let got = call(copies.vector(), 1, 0);
                // SAFETY: as the caller says.
                unsafe { copies.hand_over(got) };
                return got;
            }
            // SAFETY: as the caller says.
            unsafe { filled_each(file, vectors, count, call) }
        }
    };
}

preadv2_as!(preadv2, c"preadv2");
preadv2_as!(preadv64v2, c"preadv64v2");

/// Whether a call that sends messages is to write their lengths elsewhere.
fn is_elsewhere(messages: *mut mmsghdr, count: usize) -> bool {
    let list = range(
        messages as usize,
        count.saturating_mul(size_of::<mmsghdr>()),
    );
    count > 0 && index::holds(messages as usize) && can_be_read(&list)
}

/// `sendmmsg(2)`: how much of each message was sent is told once.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmmsg(
    socket: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    /// So many at most are sent at once.
    const MOST: usize = 1024;
    let call = |messages, count| {
        next!(
            c"sendmmsg",
            fn(c_int, *mut mmsghdr, c_uint, c_int) -> c_int,
            NO_CALL,
            (socket, messages, count, flags)
        )
    };
    let most = (count as usize).min(MOST);
    let needed = || is_elsewhere(messages, most).then(|| most * size_of::<mmsghdr>());
    let Some(room) = needed().and_then(SideRoom::take) else {
        return call(messages, count);
    };
    let copies = room.base() as *mut mmsghdr;
    // SAFETY: there is room for so many, as the caller says.
    unsafe { core::ptr::copy_nonoverlapping(messages, copies, most) };
    let sent = call(copies, count.min(1024));
    for at in 0..usize::try_from(sent).unwrap_or(0).min(most) {
        // SAFETY: one of them.
        let copy = unsafe { copies.add(at) };
        // SAFETY: the kernel has written it.
        let len = unsafe { (*copy).msg_len };
        // SAFETY: as the caller says.
        let message = unsafe { messages.add(at) };
        // SAFETY: likewise.
        unsafe { (*message).msg_len = len };
    }
    sent
}

/// `eventfd_read(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eventfd_read(file: c_int, count: *mut u64) -> c_int {
    let call = |count| {
        next!(
            c"eventfd_read",
            fn(c_int, *mut u64) -> c_int,
            NO_CALL,
            (file, count)
        )
    };
    // SAFETY: as the caller says.
    unsafe { copied(count, call) }
}

/// `mq_setattr(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_setattr(queue: mqd_t, new: *const c_void, old: *mut [i64; 8]) -> c_int {
    let call = |old| {
        next!(
            c"mq_setattr",
            fn(mqd_t, *const c_void, *mut [i64; 8]) -> c_int,
            NO_CALL,
            (queue, new, old)
        )
    };
    // SAFETY: as the caller says.
    unsafe { copied(old, call) }
}

/// `semctl(2)`, whose last argument is where an answer goes, or a number.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semctl(
    set: c_int,
    which: c_int,
    command: c_int,
    argument: usize,
) -> c_int {
    /// The values of as many semaphores as a set has at most.
    const VALUES: usize = 64 << 10;
    let buffers = || [range(argument, VALUES)];
    again_for(buffers, || {
        next_of_many!(
            c"semctl",
            fn(c_int, c_int, c_int) -> c_int,
            NO_CALL,
            (set, which, command),
            (argument)
        )
    })
}

/// `arc4random_buf(3)`, by which glibc ends a program whose memory the kernel refuses.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arc4random_buf(buffer: *mut c_void, len: usize) {
    const PART: usize = 256;
    if !index::holds(buffer as usize) {
        fill_at_random(buffer, len);
        return;
    }
    let mut copy = [0_u8; PART];
    let mut done = 0;
    while done < len {
        let part = PART.min(len - done);
        fill_at_random(copy.as_mut_ptr().cast(), part);
        let to = buffer.wrapping_byte_add(done).cast();
        // SAFETY: as the caller says.
        unsafe { core::ptr::copy_nonoverlapping(copy.as_ptr(), to, part) };
        done += part;
    }
}

/// By libc, or, where it has no such function (musl, glibc before 2.36), by the kernel: who
/// has found ours by its name relies on it.
fn fill_at_random(at: *mut c_void, len: usize) {
    type Call = unsafe extern "C" fn(*mut c_void, usize);
    static NEXT: Following = Following::named(c"arc4random_buf");
    if let Some(address) = NEXT.address() {
        // SAFETY: the address of the function of that name, whose type is that.
        let next = unsafe { core::mem::transmute::<usize, Call>(address) };
        // SAFETY: room for so much, as the caller says.
        unsafe { next(at, len) };
        return;
    }
    let before = sys::errno();
    let is_filled = sys::fill_at_random(at as usize, len);
    sys::set_errno(before);
    if !is_filled {
        // Nobody may go on with bytes that others know.
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
}
