//! `dlopen(3)` and `dlmopen(3)`: a library that is loaded with `RTLD_DEEPBIND`
//! shares our heap, and one in a namespace of its own frees our blocks by us.
//!
//! `dlopen` itself is in `libhugetlbfs`' part of this library. `dlmopen` searches on behalf of
//! its caller, too, but calls the loader: a library that is named by a path does not depend
//! on that. (One that is searched for stays as it is.)
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
use core::sync::atomic::AtomicUsize;

use hugetlbfs::dlopen::{self, RTLD_DEEPBIND};

use crate::dlopen::glibc::{LM_ID_BASE, Lmid};
use crate::dlopen::rebind::Reach;
use crate::host_malloc;

mod glibc;
pub(crate) mod namespace;
pub(crate) mod plugin;
pub(crate) mod rebind;

type Dlmopen = unsafe extern "C" fn(Lmid, *const c_char, c_int) -> *mut c_void;

/// Binds libc's malloc to ours as far as a library opened with these flags needs it. Returns
/// the flags, without `RTLD_DEEPBIND` if the library would free our blocks by libc.
#[unsafe(no_mangle)]
extern "C" fn hugetools_bind_malloc(flags: c_int) -> c_int {
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
    let real = match dlopen::real(&DLMOPEN, c"dlmopen") {
        0 => return core::ptr::null_mut(),
        // SAFETY: the address of the function of that name.
        real => unsafe { core::mem::transmute::<usize, Dlmopen>(real) },
    };
    let flags = match space {
        LM_ID_BASE => dlopen::prepare(flags),
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

static DLMOPEN: AtomicUsize = AtomicUsize::new(0);
