//! `exit` and `_exit`: reports before the program ends.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::c_int;

use hugetools_pages::sys;

use crate::next::later::{EXIT, EXIT_AT_ONCE, call_later};
use crate::report::end;

#[unsafe(no_mangle)]
unsafe extern "C" fn exit(status: c_int) -> ! {
    end::note_status(status);
    loop {
        call_later!(EXIT, fn(c_int) -> (), (status), else sys::exit(status));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    exit_at_once(status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(status: c_int) -> ! {
    exit_at_once(status)
}

/// `_Exit` doesn't call `_exit`: a program may define `_exit` itself and call `_Exit` in it.
fn exit_at_once(status: c_int) -> ! {
    end::report_at_exit(status);
    loop {
        call_later!(EXIT_AT_ONCE, fn(c_int) -> (), (status), else sys::exit(status));
    }
}
