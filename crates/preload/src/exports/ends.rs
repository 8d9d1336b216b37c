//! The functions of libc by which a program ends, or becomes another one: what
//! it has then is what its report says.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{CStr, c_char, c_int};

use hugetools_pages::sys;

use crate::kernel_writes::buffers::{can_be_read, range};
use crate::next::call::{NO_CALL, next};
use crate::process::gains;
use crate::report::end;

type Words = *const *const c_char;

/// `exit(3)`, whose status the report names.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    end::note_status(status);
    loop {
        next!(c"exit", fn(c_int) -> c_int, libc::SYS_exit_group, (status));
    }
}

/// `_exit(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    end::at_once(status);
    loop {
        next!(c"_exit", fn(c_int) -> c_int, libc::SYS_exit_group, (status));
    }
}

/// `_exit(2)`, by its name in C.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    end::at_once(status);
    loop {
        next!(c"_Exit", fn(c_int) -> c_int, libc::SYS_exit_group, (status));
    }
}

/// Looks at what the program is about to become, and ends it where that may not begin.
///
/// # Safety
/// `name` must be null or a C string.
unsafe fn may_become(name: *const c_char, may_begin: fn(&CStr) -> bool) {
    let errno = sys::errno();
    // What cannot be read is the kernel's to refuse.
    let is_told = !name.is_null() && can_be_read(&range(name as usize, 1));
    // SAFETY: a C string, as the caller says.
    if is_told && !may_begin(unsafe { CStr::from_ptr(name) }) {
        end::refuse();
    }
    sys::set_errno(errno);
}

/// `execve(2)`
///
/// # Safety
/// As libc's; so for all of these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, words: Words, variables: Words) -> c_int {
    // SAFETY: as the caller says.
    unsafe { may_become(path, gains::look_at) };
    next!(
        c"execve",
        fn(*const c_char, Words, Words) -> c_int,
        libc::SYS_execve,
        (path, words, variables)
    )
}

/// `execv(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, words: Words) -> c_int {
    // SAFETY: as the caller says.
    unsafe { may_become(path, gains::look_at) };
    next!(
        c"execv",
        fn(*const c_char, Words) -> c_int,
        NO_CALL,
        (path, words)
    )
}

/// `execvp(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(name: *const c_char, words: Words) -> c_int {
    // SAFETY: as the caller says.
    unsafe { may_become(name, gains::look_for) };
    next!(
        c"execvp",
        fn(*const c_char, Words) -> c_int,
        NO_CALL,
        (name, words)
    )
}

/// `execvpe(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(name: *const c_char, words: Words, variables: Words) -> c_int {
    // SAFETY: as the caller says.
    unsafe { may_become(name, gains::look_for) };
    next!(
        c"execvpe",
        fn(*const c_char, Words, Words) -> c_int,
        NO_CALL,
        (name, words, variables)
    )
}
