//! `dlopen(3)` and `dlmopen(3)`: a library that is loaded with `RTLD_DEEPBIND`
//! shares our heap, and one in a namespace of its own frees our blocks by us.
//!
//! Where the loader looks for a library depends on who asks, which it tells by
//! the address that the call returns to. So the last thing done here is a jump,
//! not a call; but for a namespace, where the library is named by a path that
//! does not depend on that. (One that is looked for stays as it is.)
//!
//! `rebind` has such libraries call `plugin`, as does `namespace` with those of
//! `dlmopen`.
//!
//! **Invariants.** What `dlopen` answers, and which file it loads, is as without us. Tables
//! of libc's are changed in this process only, and each word with one store.
//!
//! **Locks.** None of ours; the loader holds its own.
//!
//! **At a fork.** What was changed is changed in the child, too.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetlbfs::loader::objects;

use crate::dlopen::glibc::{LM_ID_BASE, Lmid, RTLD_DEEPBIND};
use crate::dlopen::rebind::Reach;
use crate::host_malloc;
use crate::host_malloc::next::next;

mod glibc;
pub(crate) mod namespace;
pub(crate) mod plugin;
pub(crate) mod rebind;

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Dlmopen = unsafe extern "C" fn(Lmid, *const c_char, c_int) -> *mut c_void;

/// `dlopen(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    let flags = allowed(flags);
    match real(&DLOPEN, c"dlopen") {
        0 => core::ptr::null_mut(),
        real => {
            // SAFETY: the address of the function of that name.
            let real = unsafe { core::mem::transmute::<usize, Dlopen>(real) };
            // SAFETY: as the caller says.
            unsafe { real(file, flags) }
        }
    }
}

/// The flags as they were asked for; without `RTLD_DEEPBIND` only where the
/// library would free our blocks by libc.
fn allowed(flags: c_int) -> c_int {
    if flags & RTLD_DEEPBIND == 0 {
        rebind::prepare(Reach::Takers);
        return flags;
    }
    match rebind::prepare(Reach::Family) {
        true => flags,
        false => flags & !RTLD_DEEPBIND,
    }
}

/// `dlmopen(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlmopen(space: Lmid, file: *const c_char, flags: c_int) -> *mut c_void {
    let real = match real(&DLMOPEN, c"dlmopen") {
        0 => return core::ptr::null_mut(),
        // SAFETY: the address of the function of that name.
        real => unsafe { core::mem::transmute::<usize, Dlmopen>(real) },
    };
    let flags = match space {
        LM_ID_BASE => allowed(flags),
        _ => flags,
    };
    // SAFETY: as the caller says.
    if space == LM_ID_BASE || !unsafe { is_path(file) } {
        // SAFETY: as the caller says.
        return unsafe { real(space, file, flags) };
    }
    // SAFETY: as the caller says.
    let handle = unsafe { real(space, file, flags) };
    if !handle.is_null() && host_malloc::heap() == host_malloc::Heap::Ours {
        namespace::adopt(handle);
    }
    handle
}

/// Whether a file is named by a path that means the same for everybody.
///
/// # Safety
/// It must be null or a C string.
unsafe fn is_path(file: *const c_char) -> bool {
    if file.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    let file = unsafe { CStr::from_ptr(file) }.to_bytes();
    file.contains(&b'/') && !file.contains(&b'$')
}

static DLOPEN: AtomicUsize = AtomicUsize::new(0);
static DLMOPEN: AtomicUsize = AtomicUsize::new(0);

/// The loader's function of a name; 0 where there is none.
#[inline(never)]
fn real(known: &AtomicUsize, name: &CStr) -> usize {
    if known.load(Ordering::Relaxed) == 0 {
        let found = match next(name) {
            0 => search(name),
            found => found,
        };
        known.store(found, Ordering::Relaxed);
    }
    known.load(Ordering::Relaxed)
}

/// Looks for it in all that is loaded: before glibc 2.34 it is in a library that
/// the program may not have, only one that it loaded later.
#[cold]
fn search(name: &CStr) -> usize {
    let mut found = 0;
    objects::each(|object| {
        if !object.is_ours() {
            found = object.address_of(name).unwrap_or(0);
        }
        match found {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    found
}
