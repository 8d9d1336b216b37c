//! The functions of libc, or of another library, that ours stand before.

use core::ffi::{CStr, c_char, c_void};

use hugetools_pages::{weak_function, word};

word!(hugetools_dlsym_heap);

/// The next function of a name, as a number; 0 where there is none. Looked up
/// each time: it happens seldom.
pub(crate) fn next(name: &CStr) -> usize {
    type Dlsym = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    weak_function!(hugetools_dlsym_heap as Dlsym)
        .map_or(0, |dlsym| dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize)
}
