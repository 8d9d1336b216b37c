//! The handler of `SIGSEGV`: faults that are of our making.

use core::ffi::{c_int, c_void};

use crate::signal::Handler;
use crate::{for_child, freeze};

/// See the module.
pub static HANDLER: Handler = Handler::new(libc::SIGSEGV, mend, on_sigsegv);

fn mend(addr: usize) -> bool {
    for_child::mend(addr) || freeze::wait(addr)
}

#[expect(unsafe_code, reason = "is entered by the kernel")]
extern "C" fn on_sigsegv(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own arguments.
    unsafe { HANDLER.enter(info, context) };
}
