//! The functions of libc by which a program ends, or becomes another one: what
//! it has then is what its report says.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{CStr, c_char, c_int};

use hugetools_pages::sys::{self, cast};

use crate::next::later::{
    EXECV, EXECVE, EXECVP, EXECVPE, EXIT, EXIT_AT_ONCE, call_later, no_function,
};
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
        call_later!(EXIT, fn(c_int) -> (), (status), else end_now(status));
    }
}

/// Ends the process where there is no libc to do it.
fn end_now(status: c_int) {
    let args = [cast::extended(status), 0, 0, 0, 0, 0];
    // SAFETY: as the program asks.
    let _ = unsafe { sys::any_call(libc::SYS_exit_group, args) };
}

/// `_exit(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    end::at_once(status);
    loop {
        call_later!(EXIT_AT_ONCE, fn(c_int) -> (), (status), else end_now(status));
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
        call_later!(EXIT_AT_ONCE, fn(c_int) -> (), (status), else end_now(status));
    }
}

/// Looks at what the program is about to become, and ends it where that may not begin.
///
/// # Safety
/// `name` must be null or a C string.
unsafe fn may_become(name: *const c_char, may_begin: fn(&CStr) -> bool) {
    let errno = sys::errno();
    // What cannot be read is the kernel's to refuse.
    let is_told = !name.is_null() && sys::is_readable(&(name as usize..name as usize + 1));
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
    call_later!(
        EXECVE,
        fn(*const c_char, Words, Words) -> c_int,
        (path, words, variables),
        else no_function()
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
    call_later!(
        EXECV,
        fn(*const c_char, Words) -> c_int,
        (path, words),
        else no_function()
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
    call_later!(
        EXECVP,
        fn(*const c_char, Words) -> c_int,
        (name, words),
        else no_function()
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
    call_later!(
        EXECVPE,
        fn(*const c_char, Words, Words) -> c_int,
        (name, words, variables),
        else no_function()
    )
}
