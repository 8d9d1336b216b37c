//! The end of a program, for the report.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::c_int;

use hugetools_pages::sys::{self, cast};

use crate::next::later::{EXIT, EXIT_AT_ONCE, call_later};
use crate::report::end;

/// `exit(3)`
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

/// Ends the process if libc has no such function.
fn end_now(status: c_int) {
    let args = [cast::extended(status), 0, 0, 0, 0, 0];
    // SAFETY: the program ends itself.
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

/// `_Exit(2)`
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
