//! Libraries opened with `RTLD_DEEPBIND` find the malloc family in libc although the program has
//! ours, and exchange blocks with it. So before the first such `dlopen` libc's names are redefined
//! as ours. `dlopen` itself is in `libhugetlbfs`.
//!
//! **Invariants.** libc's table changes in this process only, one word at a time.
//!
//! **Locks.** The loader's, which serialises threads.
//!
//! **At a fork.** The child has the changed table.
#![expect(unsafe_code, reason = "exports a function")]

use core::ffi::CStr;
use core::sync::atomic::AtomicBool;

use hugetlbfs::loader::rebind;

use crate::host_malloc::{self, Heap};

/// The malloc family; ours have the same names.
const NAMES: [&CStr; 18] = [
    c"malloc",
    c"calloc",
    c"aligned_alloc",
    c"memalign",
    c"posix_memalign",
    c"valloc",
    c"pvalloc",
    c"malloc_trim",
    c"mallopt",
    c"free",
    c"cfree",
    c"__libc_free",
    c"free_sized",
    c"free_aligned_sized",
    c"realloc",
    c"reallocarray",
    c"__libc_realloc",
    c"malloc_usable_size",
];

/// Redefines [`NAMES`]; returns false if libc's table can't be written: libc's `free` would get our
/// blocks.
#[unsafe(no_mangle)]
extern "C" fn hugetools_bind_malloc() -> bool {
    static BOUND: AtomicBool = AtomicBool::new(false);
    if host_malloc::heap() != Heap::Ours {
        return true;
    }
    // A look-up after the change would find our functions.
    host_malloc::find();
    rebind::to_ours(NAMES, &BOUND)
}
