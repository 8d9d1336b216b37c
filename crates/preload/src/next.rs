//! The functions that ours stand before: libc's, or those of another library
//! that was preloaded. What is none of our business goes to them.
//!
//! They are looked up at the start, since a program may call `mmap` at any
//! time: inside of its own allocator, or in a signal handler. Before glibc 2.34
//! a program without libdl has no `dlsym`; then the kernel is called itself.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::signal::real;
use hugetools_pages::{bits, sys, weak_function, weak_word};

weak_word!(hugetools_dlsym = "dlsym");

/// A function by name; 0 until it was looked up, or where there is none.
struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    const fn named(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicUsize::new(0),
        }
    }

    fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }
}

static MMAP: Next = Next::named(c"mmap");
static MUNMAP: Next = Next::named(c"munmap");
static MPROTECT: Next = Next::named(c"mprotect");
static MADVISE: Next = Next::named(c"madvise");
static MREMAP: Next = Next::named(c"mremap");
static SHMGET: Next = Next::named(c"shmget");
static SHMAT: Next = Next::named(c"shmat");
static SIGNAL: Next = Next::named(c"signal");
static SYSV_SIGNAL: Next = Next::named(c"__sysv_signal");

/// Looks all of them up.
pub(crate) fn find() {
    type Dlsym = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    let Some(dlsym) = weak_function!(hugetools_dlsym as Dlsym) else {
        return;
    };
    for next in [
        &MMAP,
        &MUNMAP,
        &MPROTECT,
        &MADVISE,
        &MREMAP,
        &SHMGET,
        &SHMAT,
        &SIGNAL,
        &SYSV_SIGNAL,
    ] {
        let found = dlsym(libc::RTLD_NEXT, next.name.as_ptr());
        next.address.store(found as usize, Ordering::Relaxed);
    }
    let sigaction = dlsym(libc::RTLD_NEXT, c"sigaction".as_ptr());
    // SAFETY: the address of the function of that name.
    unsafe { real::set_next(sigaction as usize) };
}

/// Calls the next function of that type, or what stands behind `else`.
macro_rules! call {
    ($next:ident as $type:ty, ($($argument:expr),*), else $otherwise:expr) => {
        match $next.address() {
            0 => $otherwise,
            address => {
                // SAFETY: the address of the function of that name, whose type
                // is that.
                let next = unsafe { core::mem::transmute::<usize, $type>(address) };
                // SAFETY: as the caller says.
                unsafe { next($($argument),*) }
            }
        }
    };
}

/// # Safety
/// As libc's; so for all of these.
pub(crate) unsafe fn mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    type Mmap =
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;
    call!(MMAP as Mmap, (addr, len, prot, flags, fd, offset), else {
        // SAFETY: as the caller says.
        sys::c_address(unsafe {
            sys::mmap(addr as usize, len, prot, flags, fd, bits::word(offset))
        })
    })
}

pub(crate) unsafe fn munmap(addr: *mut c_void, len: usize) -> c_int {
    type Munmap = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    call!(MUNMAP as Munmap, (addr, len), else {
        // SAFETY: as the caller says.
        sys::c_result(unsafe { sys::munmap(addr as usize, len) })
    })
}

pub(crate) unsafe fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    type Mprotect = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    call!(MPROTECT as Mprotect, (addr, len, prot), else {
        // SAFETY: as the caller says.
        sys::c_result(unsafe { sys::mprotect(addr as usize, len, prot) })
    })
}

pub(crate) unsafe fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    type Madvise = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    call!(MADVISE as Madvise, (addr, len, advice), else {
        // SAFETY: as the caller says.
        sys::c_result(unsafe { sys::madvise(addr as usize, len, advice) })
    })
}

pub(crate) unsafe fn mremap(
    addr: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    type Mremap = unsafe extern "C" fn(*mut c_void, usize, usize, c_int, ...) -> *mut c_void;
    call!(MREMAP as Mremap, (addr, old_len, new_len, flags, new_addr), else {
        // SAFETY: as the caller says.
        sys::c_address(unsafe {
            sys::mremap(addr as usize, old_len, new_len, flags, new_addr as usize)
        })
    })
}

pub(crate) fn shmget(key: libc::key_t, size: usize, flags: c_int) -> c_int {
    type Shmget = unsafe extern "C" fn(libc::key_t, usize, c_int) -> c_int;
    call!(SHMGET as Shmget, (key, size, flags), else {
        sys::shmget(key, size, flags).unwrap_or_else(|error| sys::c_result(Err(error)))
    })
}

pub(crate) unsafe fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    type Shmat = unsafe extern "C" fn(c_int, *const c_void, c_int) -> *mut c_void;
    call!(SHMAT as Shmat, (id, addr, flags), else {
        sys::c_address(sys::shmat(id, addr as usize, flags))
    })
}

/// `signal`, or where `once` its variant for one signal only; `otherwise` is
/// for where there is none.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn signal(
    signal: c_int,
    function: usize,
    once: bool,
    otherwise: impl FnOnce() -> usize,
) -> usize {
    type Signal = unsafe extern "C" fn(c_int, usize) -> usize;
    let next = if once { &SYSV_SIGNAL } else { &SIGNAL };
    match next.address() {
        0 => otherwise(),
        address => {
            // SAFETY: the address of the function of that name.
            let next = unsafe { core::mem::transmute::<usize, Signal>(address) };
            // SAFETY: as the caller says.
            unsafe { next(signal, function) }
        }
    }
}
