//! `mallopt` and `malloc_trim`.

use core::ffi::c_int;

use hugetools_pages::extent::usage;

use crate::malloc::is_ours;
use crate::mimalloc;

/// `malloc_trim(3)`: gives free memory back to the kernel; returns 1 if there was any.
pub(crate) fn trim() -> c_int {
    if !is_ours() {
        return 0;
    }
    let before = usage::in_use();
    mimalloc::mi_collect(true);
    c_int::from(usage::in_use() < before)
}

/// `mallopt(3)`: returns 1 if a setting is accepted. They tune glibc's malloc and have no effect.
/// `M_PERTURB` fails: blocks aren't filled.
pub(crate) fn set(parameter: c_int) -> c_int {
    /// As in glibc's `<malloc.h>`.
    const M_PERTURB: c_int = -6;
    c_int::from(parameter != M_PERTURB)
}
