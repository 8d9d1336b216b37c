//! The functions of libc that fill buffers by a system call; see
//! `crate::kernel_writes::buffers`. Also those that name memory which the kernel writes
//! to by itself; see `stacks`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_uint, c_void};
use core::mem::MaybeUninit;

use hugetools_pages::extent::index;
use hugetools_pages::migrate::retry;
use hugetools_pages::sys::cast;
use libc::{epoll_event, iovec, msghdr, off_t, sockaddr, socklen_t};

use crate::kernel_writes::buffers::{again, array, filled, filled_from, of_message, range, ranges};
use crate::kernel_writes::stacks;
use crate::next::call::{NO_CALL, next};
use crate::process::atfork;

/// So much at most is read into a copy: events, and short messages.
const SMALL: usize = 512;

/// Whether what is read is lost where it cannot be written: of some files the kernel has
/// it no more then. Only small buffers have a copy, in memory of ours, in processes where
/// such calls may fail.
#[inline]
fn is_to_be_copied(buffer: *mut c_void, len: usize) -> bool {
    len <= SMALL && retry::may_fail() && index::holds(buffer as usize)
}

/// Hands over what was read into a copy; a message may have been longer.
///
/// # Safety
/// So much must have been written, as far as there is room for it in the buffer of `len`.
unsafe fn copied(
    copy: &[MaybeUninit<u8>; SMALL],
    (buffer, len): (*mut c_void, usize),
    got: isize,
) -> isize {
    if let Ok(got) = usize::try_from(got) {
        let most = got.min(len).min(SMALL);
        // SAFETY: as the caller says.
        unsafe { copy.as_ptr().cast::<u8>().copy_to(buffer.cast(), most) };
    }
    got
}

/// `read(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(file: c_int, buffer: *mut c_void, len: usize) -> isize {
    if is_to_be_copied(buffer, len) {
        let mut copy = [MaybeUninit::<u8>::uninit(); SMALL];
        let got = next!(
            c"read",
            fn(c_int, *mut c_void, usize) -> isize,
            libc::SYS_read,
            (file, copy.as_mut_ptr().cast::<c_void>(), len)
        );
        // SAFETY: the kernel has written so much.
        return unsafe { copied(&copy, (buffer, len), got) };
    }
    filled(file, buffer as usize, len, |done| {
        next!(
            c"read",
            fn(c_int, *mut c_void, usize) -> isize,
            libc::SYS_read,
            (file, buffer.wrapping_byte_add(done), len - done)
        )
    })
}

/// `read(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __read_chk(
    file: c_int,
    buffer: *mut c_void,
    len: usize,
    room: usize,
) -> isize {
    filled(file, buffer as usize, len, |done| {
        next!(
            c"__read_chk",
            fn(c_int, *mut c_void, usize, usize) -> isize,
            NO_CALL,
            (
                file,
                buffer.wrapping_byte_add(done),
                len - done,
                room.saturating_sub(done)
            )
        )
    })
}

/// `pread(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(
    file: c_int,
    buffer: *mut c_void,
    len: usize,
    offset: off_t,
) -> isize {
    filled(file, buffer as usize, len, |done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"pread",
            fn(c_int, *mut c_void, usize, off_t) -> isize,
            libc::SYS_pread64,
            (file, buffer.wrapping_byte_add(done), len - done, offset)
        )
    })
}

/// `pread(2)`, by the name for large files.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(
    file: c_int,
    buffer: *mut c_void,
    len: usize,
    offset: off_t,
) -> isize {
    filled(file, buffer as usize, len, |done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"pread64",
            fn(c_int, *mut c_void, usize, off_t) -> isize,
            libc::SYS_pread64,
            (file, buffer.wrapping_byte_add(done), len - done, offset)
        )
    })
}

/// `pread(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pread_chk(
    file: c_int,
    buffer: *mut c_void,
    len: usize,
    offset: off_t,
    room: usize,
) -> isize {
    filled(file, buffer as usize, len, |done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"__pread_chk",
            fn(c_int, *mut c_void, usize, off_t, usize) -> isize,
            NO_CALL,
            (
                file,
                buffer.wrapping_byte_add(done),
                len - done,
                offset,
                room.saturating_sub(done)
            )
        )
    })
}

/// `pread(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pread64_chk(
    file: c_int,
    buffer: *mut c_void,
    len: usize,
    offset: off_t,
    room: usize,
) -> isize {
    filled(file, buffer as usize, len, |done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"__pread64_chk",
            fn(c_int, *mut c_void, usize, off_t, usize) -> isize,
            NO_CALL,
            (
                file,
                buffer.wrapping_byte_add(done),
                len - done,
                offset,
                room.saturating_sub(done)
            )
        )
    })
}

/// `readv(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(file: c_int, vectors: *const iovec, count: c_int) -> isize {
    // SAFETY: as the caller says.
    let buffers = || unsafe { ranges(vectors, usize::try_from(count).unwrap_or(0)) };
    again(buffers, || {
        next!(
            c"readv",
            fn(c_int, *const iovec, c_int) -> isize,
            libc::SYS_readv,
            (file, vectors, count)
        )
    })
}

/// `preadv(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv(
    file: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off_t,
) -> isize {
    // SAFETY: as the caller says.
    let buffers = || unsafe { ranges(vectors, usize::try_from(count).unwrap_or(0)) };
    again(buffers, || {
        next!(
            c"preadv",
            fn(c_int, *const iovec, c_int, off_t) -> isize,
            libc::SYS_preadv,
            (file, vectors, count, offset)
        )
    })
}

/// `preadv(2)`, by the name for large files.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv64(
    file: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off_t,
) -> isize {
    // SAFETY: as the caller says.
    let buffers = || unsafe { ranges(vectors, usize::try_from(count).unwrap_or(0)) };
    again(buffers, || {
        next!(
            c"preadv64",
            fn(c_int, *const iovec, c_int, off_t) -> isize,
            libc::SYS_preadv,
            (file, vectors, count, offset)
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
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
        next!(
            c"recvfrom",
            fn(c_int, *mut c_void, usize, c_int, *mut sockaddr, *mut socklen_t) -> isize,
            libc::SYS_recvfrom,
            (socket, buffer, len, flags, address, address_len)
        )
    })
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
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
        next!(
            c"__recvfrom_chk",
            fn(c_int, *mut c_void, usize, usize, c_int, *mut sockaddr, *mut socklen_t) -> isize,
            NO_CALL,
            (socket, buffer, len, room, flags, address, address_len)
        )
    })
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
    if is_to_be_copied(buffer, len) {
        let mut copy = [MaybeUninit::<u8>::uninit(); SMALL];
        let got = next!(
            c"recv",
            fn(c_int, *mut c_void, usize, c_int) -> isize,
            libc::SYS_recvfrom,
            (socket, copy.as_mut_ptr().cast::<c_void>(), len, flags)
        );
        // SAFETY: the kernel has written so much.
        return unsafe { copied(&copy, (buffer, len), got) };
    }
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
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
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
        next!(
            c"__recv_chk",
            fn(c_int, *mut c_void, usize, usize, c_int) -> isize,
            NO_CALL,
            (socket, buffer, len, room, flags)
        )
    })
}

/// `recvmsg(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> isize {
    // SAFETY: as the caller says.
    let buffers = || unsafe { of_message(message) };
    again(buffers, || {
        next!(
            c"recvmsg",
            fn(c_int, *mut msghdr, c_int) -> isize,
            libc::SYS_recvmsg,
            (socket, message, flags)
        )
    })
}

/// `getrandom(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, len: usize, flags: c_uint) -> isize {
    // It stops early where a signal comes, too, and has more then.
    filled_from(
        || true,
        buffer as usize,
        len,
        |done| {
            next!(
                c"getrandom",
                fn(*mut c_void, usize, c_uint) -> isize,
                libc::SYS_getrandom,
                (buffer.wrapping_byte_add(done), len - done, flags)
            )
        },
    )
}

/// `epoll_wait(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    file: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let buffers = || core::iter::once(array(events, most));
    again(buffers, || {
        next!(
            c"epoll_wait",
            fn(c_int, *mut epoll_event, c_int, c_int) -> c_int,
            libc::SYS_epoll_pwait,
            (file, events, most, timeout)
        )
    })
}

/// `sigaltstack(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { stacks::sigaltstack(new, old) }
}

/// `pthread_attr_setstack(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setstack(
    attributes: *mut libc::pthread_attr_t,
    addr: *mut c_void,
    len: usize,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { stacks::setstack(attributes, addr, len) }
}

/// What `pthread_atfork(3)` calls in each library under glibc.
#[unsafe(no_mangle)]
pub extern "C" fn __register_atfork(
    prepare: Option<extern "C" fn()>,
    parent: Option<extern "C" fn()>,
    child: Option<extern "C" fn()>,
    object: *mut c_void,
) -> c_int {
    atfork::register(prepare, parent, child, object)
}

/// `fork(2)`
#[unsafe(no_mangle)]
pub extern "C" fn fork() -> c_int {
    atfork::fork()
}

/// `_Fork(3)`
#[unsafe(no_mangle)]
pub extern "C" fn _Fork() -> c_int {
    atfork::fork_alone()
}

/// `pthread_atfork(3)`
#[unsafe(no_mangle)]
pub extern "C" fn pthread_atfork(
    prepare: Option<extern "C" fn()>,
    parent: Option<extern "C" fn()>,
    child: Option<extern "C" fn()>,
) -> c_int {
    atfork::atfork(prepare, parent, child)
}
