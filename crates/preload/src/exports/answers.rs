//! The functions of libc by which a program asks, and whose answer the kernel writes:
//! about files, devices and sockets, and what has happened to descriptors; see
//! `crate::kernel_writes::buffers`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_uint, c_void};

use libc::{pollfd, sigset_t, sockaddr, sockaddr_storage, socklen_t, stat as Stat, timespec};

use crate::kernel_writes::buffers::{again, range};
use crate::next::call::{Answer, NO_CALL, Word, from_kernel, next};
use crate::next::following::Following;
use crate::signals::masks::with_mask;

/// The place of a value that the kernel writes.
fn of<T>(value: *mut T) -> impl Fn() -> core::iter::Once<core::ops::Range<usize>> {
    move || core::iter::once(range(value as usize, size_of::<T>()))
}

/// Calls the next function of that name, where there is one.
macro_rules! next_of {
    ($text:literal, $path:expr, $about:expr) => {{
        static NEXT: crate::next::following::Following =
            crate::next::following::Following::named($text);
        type Next = unsafe extern "C" fn(*const c_char, *mut Stat) -> c_int;
        NEXT.address().map(|address| {
            // SAFETY: the address of the function of that name, whose type is that.
            let next = unsafe { core::mem::transmute::<usize, Next>(address) };
            // SAFETY: as the caller says.
            unsafe { next($path, $about) }
        })
    }};
}
/// A function of the family of `stat(2)` that takes a path.
macro_rules! stat_of_path {
    ($name:ident, $text:literal, $flags:expr) => {
        /// `stat(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, about: *mut Stat) -> c_int {
            again(of(about), || match next_of!($text, path, about) {
                Some(result) => result,
                // A glibc before 2.33 has none.
                None => next!(
                    c"fstatat",
                    fn(c_int, *const c_char, *mut Stat, c_int) -> c_int,
                    libc::SYS_newfstatat,
                    (libc::AT_FDCWD, path, about, $flags)
                ),
            })
        }
    };
}

stat_of_path!(stat, c"stat", 0);
stat_of_path!(stat64, c"stat64", 0);
stat_of_path!(lstat, c"lstat", libc::AT_SYMLINK_NOFOLLOW);
stat_of_path!(lstat64, c"lstat64", libc::AT_SYMLINK_NOFOLLOW);

/// `fstat(2)`, by one of its names.
macro_rules! stat_of_file {
    ($name:ident, $text:literal) => {
        /// `fstat(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(file: c_int, about: *mut Stat) -> c_int {
            again(of(about), || {
                next!(
                    $text,
                    fn(c_int, *mut Stat) -> c_int,
                    libc::SYS_fstat,
                    (file, about)
                )
            })
        }
    };
}

stat_of_file!(fstat, c"fstat");
stat_of_file!(fstat64, c"fstat64");

/// `fstatat(2)`, by one of its names.
macro_rules! stat_below {
    ($name:ident, $text:literal) => {
        /// `fstatat(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            dir: c_int,
            path: *const c_char,
            about: *mut Stat,
            flags: c_int,
        ) -> c_int {
            again(of(about), || {
                next!(
                    $text,
                    fn(c_int, *const c_char, *mut Stat, c_int) -> c_int,
                    libc::SYS_newfstatat,
                    (dir, path, about, flags)
                )
            })
        }
    };
}

stat_below!(fstatat, c"fstatat");
stat_below!(fstatat64, c"fstatat64");

/// `statx(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    about: *mut [u64; 32],
) -> c_int {
    again(of(about), || {
        next!(
            c"statx",
            fn(c_int, *const c_char, c_int, c_uint, *mut [u64; 32]) -> c_int,
            libc::SYS_statx,
            (dir, path, flags, mask, about)
        )
    })
}

/// `readlink(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, len: usize) -> isize {
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
        next!(
            c"readlink",
            fn(*const c_char, *mut c_char, usize) -> isize,
            NO_CALL,
            (path, buffer, len)
        )
    })
}

/// `readlinkat(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlinkat(
    dir: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    len: usize,
) -> isize {
    let buffers = || core::iter::once(range(buffer as usize, len));
    again(buffers, || {
        next!(
            c"readlinkat",
            fn(c_int, *const c_char, *mut c_char, usize) -> isize,
            libc::SYS_readlinkat,
            (dir, path, buffer, len)
        )
    })
}

/// `getcwd(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getcwd(buffer: *mut c_char, len: usize) -> *mut c_char {
    path_at(buffer, len, || {
        next!(
            c"getcwd",
            fn(*mut c_char, usize) -> isize,
            NO_CALL,
            (buffer, len)
        )
    })
}

/// A call that puts a path into a buffer, and gives where it is.
pub(super) fn path_at(buffer: *mut c_char, len: usize, call: impl Fn() -> isize) -> *mut c_char {
    let buffers = || core::iter::once(range(buffer as usize, len));
    let found = Cell::new(0_isize);
    again(buffers, || {
        let addr = call();
        found.set(addr);
        if matches!(addr, 0 | -1) { -1 } else { 0_isize }
    });
    match found.get() {
        -1 => core::ptr::null_mut(),
        addr => addr as *mut c_char,
    }
}

/// `poll(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(all: *mut pollfd, count: usize, timeout: c_int) -> c_int {
    let len = count.saturating_mul(size_of::<pollfd>());
    let buffers = || core::iter::once(range(all as usize, len));
    again(buffers, || {
        next!(
            c"poll",
            fn(*mut pollfd, usize, c_int) -> c_int,
            NO_CALL,
            (all, count, timeout)
        )
    })
}

/// `ppoll(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    all: *mut pollfd,
    count: usize,
    timeout: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    let len = count.saturating_mul(size_of::<pollfd>());
    let buffers = || core::iter::once(range(all as usize, len));
    let call = |signals| {
        again(buffers, || {
            next!(
                c"ppoll",
                fn(*mut pollfd, usize, *const timespec, *const sigset_t) -> c_int,
                NO_CALL,
                (all, count, timeout, signals)
            )
        })
    };
    // SAFETY: as the caller says.
    unsafe { with_mask(signals, call) }
}

/// So much at most do the numbers of most calls of `ioctl(2)` say that they fill.
const ANSWER: usize = 16 << 10;

/// `ioctl(2)`, whose argument is mostly where a device's answer goes.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(file: c_int, request: usize, argument: *mut c_void) -> c_int {
    static NEXT: Following = Following::named(c"ioctl");
    type Next = unsafe extern "C" fn(c_int, usize, ...) -> c_int;
    let buffers = || core::iter::once(range(argument as usize, ANSWER));
    let call = || match NEXT.address() {
        Some(address) => {
            // SAFETY: the address of the function of that name, whose type is that.
            let next = unsafe { core::mem::transmute::<usize, Next>(address) };
            // SAFETY: as the caller says.
            unsafe { next(file, request, argument) }
        }
        None => {
            let words = [file.word(), request, argument as usize];
            c_int::of(from_kernel(libc::SYS_ioctl, &words))
        }
    };
    again(buffers, call)
}

/// Asks for a value and how long it is.
fn with_len<T>(value: *mut T, most: usize, len: *mut socklen_t, call: impl Fn() -> c_int) -> c_int {
    let len = range(len as usize, size_of::<socklen_t>());
    let buffers = || [range(value as usize, most), len.clone()].into_iter();
    again(buffers, call)
}

/// The name of a socket's end.
macro_rules! name_of_end {
    ($name:ident, $text:literal) => {
        /// `getsockname(2)` and `getpeername(2)`
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            socket: c_int,
            address: *mut sockaddr,
            len: *mut socklen_t,
        ) -> c_int {
            with_len(address, size_of::<sockaddr_storage>(), len, || {
                next!(
                    $text,
                    fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int,
                    NO_CALL,
                    (socket, address, len)
                )
            })
        }
    };
}

name_of_end!(getsockname, c"getsockname");
name_of_end!(getpeername, c"getpeername");

/// `getsockopt(2)`, but for an error, which is told once: see `super::results`.
pub(super) fn option_of_socket(
    value: *mut c_void,
    len: *mut socklen_t,
    call: impl Fn() -> c_int,
) -> c_int {
    with_len(value, ANSWER, len, call)
}

/// `pipe(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe(ends: *mut [c_int; 2]) -> c_int {
    again(of(ends), || {
        next!(c"pipe", fn(*mut [c_int; 2]) -> c_int, NO_CALL, (ends))
    })
}

/// `pipe2(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe2(ends: *mut [c_int; 2], flags: c_int) -> c_int {
    again(of(ends), || {
        next!(
            c"pipe2",
            fn(*mut [c_int; 2], c_int) -> c_int,
            libc::SYS_pipe2,
            (ends, flags)
        )
    })
}

/// `socketpair(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut [c_int; 2],
) -> c_int {
    again(of(ends), || {
        next!(
            c"socketpair",
            fn(c_int, c_int, c_int, *mut [c_int; 2]) -> c_int,
            NO_CALL,
            (domain, kind, protocol, ends)
        )
    })
}
