//! Libraries opened with `RTLD_DEEPBIND` share our heap. `dlopen` itself is in `libhugetlbfs`;
//! `rebind` redirects libc's malloc family to ours; `plugin` has the functions that take blocks.
//!
//! **Invariants.** `dlopen` loads the same file and returns the same result as the loader's. libc's
//! tables change in this process only, one word at a time.
//!
//! **Locks.** None of ours; the loader's.
//!
//! **At a fork.** The child has the changed tables.
#![expect(unsafe_code, reason = "exports a function")]

use core::ffi::c_int;

use hugetlbfs::dlopen::RTLD_DEEPBIND;

use crate::dlopen::rebind::Reach;
pub(crate) mod plugin;
pub(crate) mod rebind;

/// Binds libc's malloc family to ours, as far as a library opened with these flags needs it.
/// Returns the flags, without `RTLD_DEEPBIND` if that fails: libc's `free` would get our blocks.
#[unsafe(no_mangle)]
extern "C" fn hugetools_bind_malloc(flags: c_int) -> c_int {
    if flags & RTLD_DEEPBIND == 0 {
        rebind::prepare(Reach::Free);
        return flags;
    }
    match rebind::prepare(Reach::All) {
        true => flags,
        false => flags & !RTLD_DEEPBIND,
    }
}
