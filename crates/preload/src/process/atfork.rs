//! Registration of fork handlers: ours are registered first, even if another library's constructor
//! runs earlier.
#![expect(
    unsafe_code,
    reason = "exports functions of libc and calls them by address"
)]

use core::ffi::{c_int, c_void};

use hugetools_pages::fork;
use hugetools_pages::rt::weak::function;

use crate::next;
use crate::next::later::{PTHREAD_ATFORK, call_later};
use crate::rt::marker;

type Handler = Option<extern "C" fn()>;

/// Called under glibc by the `pthread_atfork(3)` that is linked into each object.
#[unsafe(no_mangle)]
extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    object: *mut c_void,
) -> c_int {
    type Register = extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    be_first();
    // SAFETY: the address of the function of that name.
    match unsafe { function::<Register>(next::register_atfork()) } {
        Some(next) => next(prepare, parent, child, object),
        None => pthread_atfork(prepare, parent, child),
    }
}

/// `pthread_atfork(3)`, which musl's libc exports.
#[unsafe(no_mangle)]
extern "C" fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int {
    be_first();
    if next::register_atfork() != 0 {
        return __register_atfork(prepare, parent, child, core::ptr::null_mut());
    }
    call_later!(
        PTHREAD_ATFORK,
        fn(Handler, Handler, Handler) -> c_int,
        (prepare, parent, child),
        else libc::ENOMEM
    )
}

fn be_first() {
    if marker::is_first() {
        fork::watch();
    }
}
