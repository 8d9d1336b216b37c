//! The functions of libc that take messages, which the kernel has no more then: see
//! `crate::kernel_writes::copies` and `message`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};

use hugetools_pages::migrate::retry;
use hugetools_pages::sys::cast;
use libc::{mmsghdr, mqd_t, msghdr, sockaddr, socklen_t, timespec};

use crate::kernel_writes::buffers::{again, of_message, range};
use crate::kernel_writes::copies::{Buffer, Filled, copied, with_len};
use crate::kernel_writes::message::Messages;
use crate::next::call::{NO_CALL, next};

/// Has a buffer filled by a call, elsewhere where it can be, and else again where that
/// helps.
pub(super) fn taken(buffer: *mut c_void, len: usize, call: impl Fn(*mut c_void) -> isize) -> isize {
    match Buffer::of(buffer, len) {
        Some(copy) => copy.filled(call),
        None => again(
            || core::iter::once(range(buffer as usize, len)),
            || call(buffer),
        ),
    }
}

/// Takes a message whose sender the caller wants to know.
///
/// # Safety
/// As libc's.
unsafe fn from_whom(
    address: *mut sockaddr,
    len: *mut socklen_t,
    call: impl FnOnce(*mut c_void, *mut socklen_t) -> isize,
) -> isize {
    match retry::may_fail() {
        // SAFETY: as the caller says.
        true => unsafe { with_len(address.cast(), len, call) },
        false => call(address.cast(), len),
    }
}

/// `recv(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    socket: c_int,
    buffer: *mut c_void,
    len: usize,
    flags: c_int,
) -> isize {
    taken(buffer, len, |buffer| {
        next!(
            c"recv",
            fn(c_int, *mut c_void, usize, c_int) -> isize,
            libc::SYS_recvfrom,
            (socket, buffer, len, flags)
        )
    })
}

/// `recv(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recv_chk(
    socket: c_int,
    buffer: *mut c_void,
    len: usize,
    room: usize,
    flags: c_int,
) -> isize {
    taken(buffer, len, |buffer| {
        next!(
            c"__recv_chk",
            fn(c_int, *mut c_void, usize, usize, c_int) -> isize,
            NO_CALL,
            (socket, buffer, len, room, flags)
        )
    })
}

/// `recvfrom(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    socket: c_int,
    buffer: *mut c_void,
    len: usize,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> isize {
    let call = |address: *mut c_void, address_len| {
        taken(buffer, len, |buffer| {
            next!(
                c"recvfrom",
                fn(c_int, *mut c_void, usize, c_int, *mut c_void, *mut socklen_t) -> isize,
                libc::SYS_recvfrom,
                (socket, buffer, len, flags, address, address_len)
            )
        })
    };
    // SAFETY: as the caller says.
    unsafe { from_whom(address, address_len, call) }
}

/// `recvfrom(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recvfrom_chk(
    socket: c_int,
    buffer: *mut c_void,
    len: usize,
    room: usize,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> isize {
    type Address = *mut c_void;
    let call = |address: Address, address_len| {
        taken(buffer, len, |buffer| {
            next!(
                c"__recvfrom_chk",
                fn(c_int, *mut c_void, usize, usize, c_int, Address, *mut socklen_t) -> isize,
                NO_CALL,
                (socket, buffer, len, room, flags, address, address_len)
            )
        })
    };
    // SAFETY: as the caller says.
    unsafe { from_whom(address, address_len, call) }
}

/// `recvmsg(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> isize {
    let call = |message| {
        next!(
            c"recvmsg",
            fn(c_int, *mut msghdr, c_int) -> isize,
            libc::SYS_recvmsg,
            (socket, message, flags)
        )
    };
    // SAFETY: as the caller says.
    if let Some(copies) = unsafe { Messages::one(message) } {
        let got = call(copies.given());
        // SAFETY: likewise.
        unsafe { copies.hand_over(got) };
        return got;
    }
    // SAFETY: likewise.
    again(|| unsafe { of_message(message) }, || call(message))
}

/// `recvmmsg(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    socket: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    let call = |messages, count| {
        let call = |timeout| {
            next!(
                c"recvmmsg",
                fn(c_int, *mut mmsghdr, c_uint, c_int, *mut timespec) -> c_int,
                libc::SYS_recvmmsg,
                (socket, messages, count, flags, timeout)
            )
        };
        // SAFETY: as the caller says. The rest of the time is told with the messages.
        unsafe { copied(timeout, call) }
    };
    // SAFETY: as the caller says.
    let Some(copies) = (unsafe { Messages::several(messages, count as usize) }) else {
        return call(messages, count);
    };
    let got = call(copies.given(), copies.count());
    // SAFETY: likewise.
    unsafe { copies.hand_over_all(got) };
    got
}

/// Takes a message from a queue whose messages have priorities.
///
/// # Safety
/// As libc's.
unsafe fn of_queue(
    buffer: *mut c_char,
    len: usize,
    priority: *mut c_uint,
    call: impl Fn(*mut c_void, *mut c_uint) -> isize,
) -> isize {
    let mut filled = Filled::value(priority);
    let priority = filled.given();
    let got = taken(buffer.cast(), len, |buffer| call(buffer, priority));
    if got >= 0 {
        // SAFETY: as the caller says.
        unsafe { filled.hand_over(usize::MAX) };
    }
    got
}

/// `mq_receive(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_receive(
    queue: mqd_t,
    buffer: *mut c_char,
    len: usize,
    priority: *mut c_uint,
) -> isize {
    let call = |buffer, priority| {
        next!(
            c"mq_receive",
            fn(mqd_t, *mut c_void, usize, *mut c_uint) -> isize,
            NO_CALL,
            (queue, buffer, len, priority)
        )
    };
    // SAFETY: as the caller says.
    unsafe { of_queue(buffer, len, priority, call) }
}

/// `mq_timedreceive(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_timedreceive(
    queue: mqd_t,
    buffer: *mut c_char,
    len: usize,
    priority: *mut c_uint,
    until: *const timespec,
) -> isize {
    let call = |buffer, priority| {
        next!(
            c"mq_timedreceive",
            fn(mqd_t, *mut c_void, usize, *mut c_uint, *const timespec) -> isize,
            libc::SYS_mq_timedreceive,
            (queue, buffer, len, priority, until)
        )
    };
    // SAFETY: as the caller says.
    unsafe { of_queue(buffer, len, priority, call) }
}

/// `msgrcv(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msgrcv(
    queue: c_int,
    message: *mut c_void,
    len: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    // The kind of the message stands before its text, and is not counted.
    const KIND: usize = size_of::<c_long>();
    let with_kind = |len: isize| {
        if len < 0 {
            len
        } else {
            len + cast::result(KIND)
        }
    };
    let got = taken(message, len.saturating_add(KIND), |message| {
        with_kind(next!(
            c"msgrcv",
            fn(c_int, *mut c_void, usize, c_long, c_int) -> isize,
            NO_CALL,
            (queue, message, len, kind, flags)
        ))
    });
    if got < 0 {
        got
    } else {
        got - cast::result(KIND)
    }
}
