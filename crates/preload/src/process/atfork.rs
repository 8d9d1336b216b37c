//! Handlers for forks, as libraries register them: ours come first, whoever's
//! constructor runs before ours.
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{c_int, c_void};

use hugetools_pages::fork::{self, Descriptors};
use hugetools_pages::kernel::facts;
use hugetools_pages::sys::{self, Errno};

use crate::loader::lock;
use crate::next;
use crate::next::following::{self, Following};
use crate::rt::marker;

static REGISTER: Following = Following::named(c"__register_atfork");
static ATFORK: Following = Following::named(c"pthread_atfork");
static FORK_ALONE: Following = Following::named(c"_Fork");
static FORK: Following = Following::named(c"fork");

type Handler = Option<extern "C" fn()>;

type Register = extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
type Atfork = extern "C" fn(Handler, Handler, Handler) -> c_int;

/// `__register_atfork`, which every `pthread_atfork` of glibc comes to.
pub(crate) fn register(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    object: *mut c_void,
) -> c_int {
    be_first();
    if let Some(address) = next::register_atfork().or_else(|| REGISTER.address()) {
        // SAFETY: the address of the function of that name.
        let next = unsafe { core::mem::transmute::<usize, Register>(address) };
        return next(prepare, parent, child, object);
    }
    match ATFORK.address() {
        Some(address) => {
            // SAFETY: likewise.
            let next = unsafe { core::mem::transmute::<usize, Atfork>(address) };
            next(prepare, parent, child)
        }
        None => libc::ENOMEM,
    }
}

/// `pthread_atfork`, which is a function of libc's in musl only.
pub(crate) fn atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int {
    register(prepare, parent, child, core::ptr::null_mut())
}

/// `fork`, which libc makes with all that belongs around it.
pub(crate) fn fork() -> c_int {
    type Fork = extern "C" fn() -> c_int;
    let Some(address) = FORK.address() else {
        return sys::c_result(Err(Errno(libc::ENOSYS)));
    };
    // SAFETY: the address of the function of that name.
    let next = unsafe { core::mem::transmute::<usize, Fork>(address) };
    find_before();
    match marker::is_first() {
        true => fork::apart(|| fork::again_if_refused(|| next())),
        false => next(),
    }
}

/// `_Fork`, which runs no handlers of anybody.
pub(crate) fn fork_alone() -> c_int {
    type Fork = extern "C" fn() -> c_int;
    let Some(address) = FORK_ALONE.address().or_else(|| FORK.address()) else {
        return sys::c_result(Err(Errno(libc::ENOSYS)));
    };
    // SAFETY: the address of the function of that name.
    let next = unsafe { core::mem::transmute::<usize, Fork>(address) };
    find_before();
    match marker::is_first() {
        true => fork::around(|| next(), Descriptors::Copied),
        false => next(),
    }
}

/// Asks the loader for what the child may need, which could not ask itself.
pub(crate) fn find_before() {
    following::find_all();
    // Some that libc has made by itself.
    if facts::has_threads() {
        lock::note_threads();
    }
}

fn be_first() {
    if marker::is_first() {
        fork::watch();
    }
}
