//! C++'s `operator new` and `delete`: through libstdc++ each costs one to three more calls. The
//! other forms call these or malloc.
#![expect(unsafe_code, reason = "exports functions of libstdc++")]

use core::ffi::{CStr, c_void};

use hugetlbfs::next::dlsym_next;
use hugetools_pages::rt::weak::function;

use crate::host_malloc::{self, Heap};
use crate::malloc as ours;
use crate::{mimalloc, owner};

/// Calls the next `operator new`, which on failure calls the new-handler or throws.
#[cold]
fn next_new(name: &CStr, size: usize) -> *mut c_void {
    type New = extern "C-unwind" fn(usize) -> *mut c_void;
    // SAFETY: the address of the function of that name.
    let new = unsafe { function::<New>(dlsym_next(name)) };
    new.map_or(core::ptr::null_mut(), |new| new(size))
}

#[inline(always)]
fn new(name: &CStr, size: usize) -> *mut c_void {
    match ours::allocate_small(size).or_else(|| ours::allocate(size)) {
        Some(block) if !block.is_null() => block,
        _ => next_new(name, size),
    }
}

/// # Safety
/// As for `operator delete`.
#[inline(always)]
unsafe fn delete(name: &CStr, block: *mut c_void) {
    match ours::needs_care(block) {
        // SAFETY: upheld by the caller.
        true => unsafe { delete_with_care(name, block) },
        // SAFETY: a live block of mimalloc's.
        false => unsafe { mimalloc::mi_free(block) },
    }
}

/// # Safety
/// As for `operator delete`.
#[cold]
unsafe fn delete_with_care(name: &CStr, block: *mut c_void) {
    match host_malloc::heap() {
        Heap::Theirs if owner::is_outside(block) => next_delete(name, block),
        // SAFETY: upheld by the caller.
        _ => unsafe { ours::free_with_care(block) },
    }
}

fn next_delete(name: &CStr, block: *mut c_void) {
    type Delete = extern "C" fn(*mut c_void);
    // SAFETY: the address of the function of that name.
    if let Some(delete) = unsafe { function::<Delete>(dlsym_next(name)) } {
        delete(block);
    }
}

/// `operator new(size_t)`
#[unsafe(no_mangle)]
extern "C-unwind" fn _Znwm(size: usize) -> *mut c_void {
    new(c"_Znwm", size)
}

/// `operator new[](size_t)`
#[unsafe(no_mangle)]
extern "C-unwind" fn _Znam(size: usize) -> *mut c_void {
    new(c"_Znam", size)
}

/// `operator delete(void *)`
///
/// # Safety
/// `block` must be null or come from `operator new`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdlPv(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { delete(c"_ZdlPv", block) }
}

/// `operator delete[](void *)`
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdaPv(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { delete(c"_ZdaPv", block) }
}

/// `operator delete(void *, size_t)`
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdlPvm(block: *mut c_void, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { delete(c"_ZdlPv", block) }
}

/// `operator delete[](void *, size_t)`
#[unsafe(no_mangle)]
unsafe extern "C" fn _ZdaPvm(block: *mut c_void, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { delete(c"_ZdaPv", block) }
}
