//! The functions of libc that fill buffers by a system call; see
//! `crate::kernel_writes::buffers`. Also those that name memory which the kernel writes
//! to by itself; see `stacks`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_uint, c_void};

use hugetools_pages::sys::cast;
use libc::{epoll_event, iovec, off_t};

use crate::kernel_writes::buffers::{again, array, filled, filled_each, filled_from};
use crate::kernel_writes::copies::Buffer;
use crate::kernel_writes::message::{self, Messages};
use crate::kernel_writes::stacks;
use crate::next::call::{NO_CALL, next};
use crate::process::atfork;

/// `read(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(file: c_int, buffer: *mut c_void, len: usize) -> isize {
    if let Some(copy) = Buffer::of_file(file, buffer, len) {
        return copy.filled(|buffer| {
            next!(
                c"read",
                fn(c_int, *mut c_void, usize) -> isize,
                libc::SYS_read,
                (file, buffer, len)
            )
        });
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
    if let Some(copy) = Buffer::of_file(file, buffer, len) {
        return copy.filled(|buffer| {
            next!(
                c"__read_chk",
                fn(c_int, *mut c_void, usize, usize) -> isize,
                NO_CALL,
                (file, buffer, len, room)
            )
        });
    }
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
    let mut header = message::of_vectors(vectors, count);
    // SAFETY: as the caller says.
    if let Some(copies) = unsafe { Messages::of_file(file, &raw mut header) } {
        let got = next!(
            c"readv",
            fn(c_int, *const iovec, c_int) -> isize,
            libc::SYS_readv,
            (file, copies.vector(), 1)
        );
        // SAFETY: as the caller says.
        unsafe { copies.hand_over(got) };
        return got;
    }
    let call = |vectors, count, _| {
        next!(
            c"readv",
            fn(c_int, *const iovec, c_int) -> isize,
            libc::SYS_readv,
            (file, vectors, count)
        )
    };
    // SAFETY: as the caller says.
    unsafe { filled_each(file, vectors, count, call) }
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
    let call = |vectors, count, done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"preadv",
            fn(c_int, *const iovec, c_int, off_t) -> isize,
            libc::SYS_preadv,
            (file, vectors, count, offset)
        )
    };
    // SAFETY: as the caller says.
    unsafe { filled_each(file, vectors, count, call) }
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
    let call = |vectors, count, done| {
        let offset = offset.saturating_add(cast::offset(done));
        next!(
            c"preadv64",
            fn(c_int, *const iovec, c_int, off_t) -> isize,
            libc::SYS_preadv,
            (file, vectors, count, offset)
        )
    };
    // SAFETY: as the caller says.
    unsafe { filled_each(file, vectors, count, call) }
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
