//! The functions of libc that tell of files, directories and terminals; see
//! `crate::kernel_writes::buffers`, and `super::answers` for those of `stat(2)`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_char, c_int, c_void};

use libc::{pollfd, sigset_t, stat as Stat, statfs as StatFs, termios, timespec};

use super::answers::path_at;
use super::messages::taken;
use crate::kernel_writes::buffers::{again_for, one, range};
use crate::kernel_writes::copies::copied;
use crate::kernel_writes::tables::{made_again, made_again_by_number, next_of_many};
use crate::next::call::{NO_CALL, next};
use crate::signals::masks::with_mask;

/// What a file system answers by `quotactl(2)`, and a handle with what it names.
const ANSWER: usize = 512;

/// The range of descriptors to be waited for.
fn polled(all: *mut pollfd, count: usize) -> core::ops::Range<usize> {
    range(all as usize, count.saturating_mul(size_of::<pollfd>()))
}

made_again! {
    /// `statfs(2)`
    statfs, c"statfs", (path: *const c_char, about: *mut StatFs) -> c_int, NO_CALL, [one(about)];
    /// `statfs(2)`, by the name for large files.
    statfs64, c"statfs64", (path: *const c_char, about: *mut StatFs) -> c_int, NO_CALL, [one(about)];
    /// `fstatfs(2)`
    fstatfs, c"fstatfs", (file: c_int, about: *mut StatFs) -> c_int, NO_CALL, [one(about)];
    /// `fstatfs(2)`, by the name for large files.
    fstatfs64, c"fstatfs64", (file: c_int, about: *mut StatFs) -> c_int, NO_CALL, [one(about)];
    /// `getxattr(2)`
    getxattr, c"getxattr", (path: *const c_char, name: *const c_char, value: *mut c_void, len: usize) -> isize,
        NO_CALL, [range(value as usize, len)];
    /// `lgetxattr(2)`
    lgetxattr, c"lgetxattr", (path: *const c_char, name: *const c_char, value: *mut c_void, len: usize) -> isize,
        NO_CALL, [range(value as usize, len)];
    /// `fgetxattr(2)`
    fgetxattr, c"fgetxattr", (file: c_int, name: *const c_char, value: *mut c_void, len: usize) -> isize,
        NO_CALL, [range(value as usize, len)];
    /// `listxattr(2)`
    listxattr, c"listxattr", (path: *const c_char, names: *mut c_char, len: usize) -> isize,
        NO_CALL, [range(names as usize, len)];
    /// `llistxattr(2)`
    llistxattr, c"llistxattr", (path: *const c_char, names: *mut c_char, len: usize) -> isize,
        NO_CALL, [range(names as usize, len)];
    /// `flistxattr(2)`
    flistxattr, c"flistxattr", (file: c_int, names: *mut c_char, len: usize) -> isize,
        NO_CALL, [range(names as usize, len)];
    /// `name_to_handle_at(2)`
    name_to_handle_at, c"name_to_handle_at",
        (dir: c_int, path: *const c_char, handle: *mut c_void, mount: *mut c_int, flags: c_int) -> c_int,
        NO_CALL, [range(handle as usize, ANSWER), range(mount as usize, 8)];
    /// `quotactl(2)`
    quotactl, c"quotactl", (task: c_int, device: *const c_char, id: c_int, about: *mut c_void) -> c_int,
        NO_CALL, [range(about as usize, ANSWER)];
    /// `tcgetattr(3)`
    tcgetattr, c"tcgetattr", (file: c_int, modes: *mut termios) -> c_int, NO_CALL, [one(modes)];
    /// `readlink(2)` of programs that are checked for overflows.
    __readlink_chk, c"__readlink_chk", (path: *const c_char, buffer: *mut c_char, len: usize, room: usize) -> isize,
        NO_CALL, [range(buffer as usize, len)];
    /// `readlinkat(2)` of programs that are checked for overflows.
    __readlinkat_chk, c"__readlinkat_chk",
        (dir: c_int, path: *const c_char, buffer: *mut c_char, len: usize, room: usize) -> isize,
        NO_CALL, [range(buffer as usize, len)];
    /// `poll(2)` of programs that are checked for overflows.
    __poll_chk, c"__poll_chk", (all: *mut pollfd, count: usize, timeout: c_int, room: usize) -> c_int,
        NO_CALL, [polled(all, count)];
    /// `stat(2)`, as programs for a glibc before 2.33 call it.
    __xstat, c"__xstat", (version: c_int, path: *const c_char, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `stat(2)`, as programs for a glibc before 2.33 call it.
    __xstat64, c"__xstat64", (version: c_int, path: *const c_char, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `lstat(2)`, as programs for a glibc before 2.33 call it.
    __lxstat, c"__lxstat", (version: c_int, path: *const c_char, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `lstat(2)`, as programs for a glibc before 2.33 call it.
    __lxstat64, c"__lxstat64", (version: c_int, path: *const c_char, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `fstat(2)`, as programs for a glibc before 2.33 call it.
    __fxstat, c"__fxstat", (version: c_int, file: c_int, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `fstat(2)`, as programs for a glibc before 2.33 call it.
    __fxstat64, c"__fxstat64", (version: c_int, file: c_int, about: *mut Stat) -> c_int,
        NO_CALL, [one(about)];
    /// `fstatat(2)`, as programs for a glibc before 2.33 call it.
    __fxstatat, c"__fxstatat",
        (version: c_int, dir: c_int, path: *const c_char, about: *mut Stat, flags: c_int) -> c_int,
        NO_CALL, [one(about)];
    /// `fstatat(2)`, as programs for a glibc before 2.33 call it.
    __fxstatat64, c"__fxstatat64",
        (version: c_int, dir: c_int, path: *const c_char, about: *mut Stat, flags: c_int) -> c_int,
        NO_CALL, [one(about)];
}

made_again_by_number! {
    /// `ttyname_r(3)`
    ttyname_r, c"ttyname_r", (file: c_int, name: *mut c_char, len: usize), libc::EFAULT,
        [range(name as usize, len)];
    /// `ttyname_r(3)` of programs that are checked for overflows.
    __ttyname_r_chk, c"__ttyname_r_chk", (file: c_int, name: *mut c_char, len: usize, room: usize),
        libc::EFAULT, [range(name as usize, len)];
}

/// `ppoll(2)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    all: *mut pollfd,
    count: usize,
    timeout: *const timespec,
    signals: *const sigset_t,
    room: usize,
) -> c_int {
    let call = |signals| {
        again_for(
            || [polled(all, count)],
            || {
                next!(
                    c"__ppoll_chk",
                    fn(*mut pollfd, usize, *const timespec, *const sigset_t, usize) -> c_int,
                    NO_CALL,
                    (all, count, timeout, signals, room)
                )
            },
        )
    };
    // SAFETY: as the caller says.
    unsafe { with_mask(signals, call) }
}

/// `getcwd(3)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __getcwd_chk(buffer: *mut c_char, len: usize, room: usize) -> *mut c_char {
    path_at(buffer, len, || {
        next!(
            c"__getcwd_chk",
            fn(*mut c_char, usize, usize) -> isize,
            NO_CALL,
            (buffer, len, room)
        )
    })
}

/// `realpath(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char {
    path_at(buffer, libc::PATH_MAX as usize, || {
        next!(
            c"realpath",
            fn(*const c_char, *mut c_char) -> isize,
            NO_CALL,
            (path, buffer)
        )
    })
}

/// `realpath(3)` of programs that are checked for overflows.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __realpath_chk(
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> *mut c_char {
    path_at(buffer, libc::PATH_MAX as usize, || {
        next!(
            c"__realpath_chk",
            fn(*const c_char, *mut c_char, usize) -> isize,
            NO_CALL,
            (path, buffer, room)
        )
    })
}

/// `getdents64(2)`, which goes on behind what it has told of.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getdents64(dir: c_int, buffer: *mut c_void, len: usize) -> isize {
    taken(buffer, len, |buffer| {
        next!(
            c"getdents64",
            fn(c_int, *mut c_void, usize) -> isize,
            libc::SYS_getdents64,
            (dir, buffer, len)
        )
    })
}

/// `getdirentries(3)`, by one of its names.
macro_rules! entries_as {
    ($name:ident, $text:literal) => {
        /// `getdirentries(3)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            dir: c_int,
            buffer: *mut c_void,
            len: usize,
            place: *mut i64,
        ) -> isize {
            taken(buffer, len, |buffer| {
                next!(
                    $text,
                    fn(c_int, *mut c_void, usize, *mut i64) -> isize,
                    NO_CALL,
                    (dir, buffer, len, place)
                )
            })
        }
    };
}

entries_as!(getdirentries, c"getdirentries");
entries_as!(getdirentries64, c"getdirentries64");

/// `getdents(2)` of musl.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getdents(dir: c_int, buffer: *mut c_void, len: usize) -> c_int {
    let got = taken(buffer, len, |buffer| {
        let got = next!(
            c"getdents",
            fn(c_int, *mut c_void, usize) -> c_int,
            libc::SYS_getdents64,
            (dir, buffer, len)
        );
        got as isize
    });
    c_int::try_from(got).unwrap_or(-1)
}

/// The words that a command of `fcntl(2)` fills: a lock, in which it reads before, an owner,
/// or what a file is used for.
fn words_of(command: c_int) -> usize {
    const F_GETOWN_EX: c_int = 16;
    const F_GETOWNER_UIDS: c_int = 17;
    const F_GET_RW_HINT: c_int = 1035;
    const F_GET_FILE_RW_HINT: c_int = 1037;
    match command {
        libc::F_GETLK | libc::F_OFD_GETLK => 4,
        F_GETOWN_EX | F_GETOWNER_UIDS | F_GET_RW_HINT | F_GET_FILE_RW_HINT => 1,
        _ => 0,
    }
}

/// `fcntl(2)`, by one of its names.
macro_rules! fcntl_as {
    ($name:ident, $text:literal) => {
        /// `fcntl(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(file: c_int, command: c_int, argument: usize) -> c_int {
            let call = |argument: usize| {
                next_of_many!(
                    $text,
                    fn(c_int, c_int) -> c_int,
                    libc::SYS_fcntl,
                    (file, command),
                    (argument)
                )
            };
            match words_of(command) {
                0 => call(argument),
                // SAFETY: as the caller says.
                1 => unsafe { copied(argument as *mut u64, |copy| call(copy as usize)) },
                // SAFETY: likewise.
                _ => unsafe { copied(argument as *mut libc::flock, |copy| call(copy as usize)) },
            }
        }
    };
}

fcntl_as!(fcntl, c"fcntl");
fcntl_as!(fcntl64, c"fcntl64");

/// `klogctl(3)`, which may tell once.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn klogctl(task: c_int, buffer: *mut c_char, len: c_int) -> c_int {
    let room = usize::try_from(len).unwrap_or(0);
    let is_read = matches!(task, 2..=4);
    let call = |buffer: *mut c_void| {
        let got = next!(
            c"klogctl",
            fn(c_int, *mut c_void, c_int) -> c_int,
            NO_CALL,
            (task, buffer, len)
        );
        got as isize
    };
    let got = match is_read {
        true => taken(buffer.cast(), room, call),
        false => call(buffer.cast()),
    };
    c_int::try_from(got).unwrap_or(-1)
}
