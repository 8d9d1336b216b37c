//! Look-up of the next definition of a function.

use core::ffi::{CStr, c_char, c_void};

use hugetools_pages::{weak_function, word};

word!(hugetools_dlsym_heap);

/// Returns the address of the next definition; 0 if there is none. Calls are too rare to cache it.
pub(crate) fn next(name: &CStr) -> usize {
    type Dlsym = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    weak_function!(hugetools_dlsym_heap as Dlsym)
        .map_or(0, |dlsym| dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize)
}
