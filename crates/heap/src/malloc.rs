//! The malloc family: mimalloc, with libc's manners. A call that succeeds
//! leaves `errno` as it was; one that fails sets it.
//!
//! * [`owner`]: whose a block is; [`large`]: `realloc` of those that are not mimalloc's;
//!   [`elsewhere`]: blocks that mimalloc does not have.
//! * [`mallopt`]: what a program may set, ask and do besides.
//!
//! **Invariants.** Results are those of the program's libc: glibc's, or musl's. A block of
//! whoever's is freed by its owner. What is common costs two comparisons more than
//! mimalloc itself.
//!
//! **Locks.** None.
//!
//! **At a fork.** The thread that forks may allocate; so may the child, from the first
//! moment on.
#![expect(unsafe_code, reason = "takes blocks by address, as malloc does")]

use core::ffi::{c_int, c_void};

use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, Errno, set_errno};

use crate::arena;
use crate::host_malloc::{self, foreign};
use crate::large_blocks::{aligned, growing};
use crate::malloc::owner::Owner;
use crate::mimalloc::direct::{LEAST_ALIGNMENT, at_least, checked};
use crate::mimalloc::{mi_free, mi_malloc, mi_usable_size, mi_zalloc};

pub(crate) mod elsewhere;
pub(crate) mod large;
pub(crate) mod mallopt;
pub(crate) mod owner;

const INVALID: Errno = Errno(libc::EINVAL);

pub(crate) fn malloc(size: usize) -> *mut c_void {
    if !arena::ready() {
        return host_malloc::malloc(size);
    }
    or_else(mi_malloc(at_least(size)), || elsewhere::malloc(size))
}

pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void {
    if !arena::ready() {
        return host_malloc::calloc(count, size);
    }
    match count.checked_mul(size) {
        Some(total) => or_else(mi_zalloc(at_least(total)), || elsewhere::zeros(total)),
        None => checked(core::ptr::null_mut()),
    }
}

/// # Safety
/// `block` must be null or a block of ours that is not used any more.
pub(crate) unsafe fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    if owner::is_elsewhere(block) {
        // SAFETY: as the caller says.
        return unsafe { free_elsewhere(block) };
    }
    // SAFETY: as the caller says, and mimalloc's.
    unsafe { mi_free(block) };
}

/// # Safety
/// As for [`free`].
#[cold]
unsafe fn free_elsewhere(block: *mut c_void) {
    match owner::of(block) {
        // SAFETY: as the caller says, and mimalloc's.
        Owner::Allocator => unsafe { mi_free(block) },
        Owner::Growing(extent) => growing::free(extent),
        Owner::Foreign => foreign::free(block),
    }
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !arena::ready() {
        return host_malloc::realloc(block, size);
    }
    if size >= growing::SMALLEST || (owner::is_elsewhere(block) && !block.is_null()) {
        // SAFETY: as the caller says.
        return unsafe { large::realloc(block, size) };
    }
    // SAFETY: as the caller says.
    unsafe { elsewhere::realloc_here(block, size) }
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: as the caller says.
        Some(total) => unsafe { realloc(block, total) },
        None => checked(core::ptr::null_mut()),
    }
}

/// `aligned_alloc`: before glibc 2.38 as `memalign`; in every other libc the
/// alignment must be a power of two.
pub(crate) fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() && !weak::is_glibc_before(38) {
        set_errno(INVALID);
        return core::ptr::null_mut();
    }
    memalign(alignment, size)
}

/// `memalign`: other alignments are rounded up, as glibc does.
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    match alignment.checked_next_power_of_two() {
        Some(alignment) => aligned(alignment, size),
        None => {
            set_errno(INVALID);
            core::ptr::null_mut()
        }
    }
}

/// `posix_memalign`: where there is no memory, libcs leave that in `errno`, too.
///
/// # Safety
/// `place` must be writable.
pub(crate) unsafe fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    if !alignment.is_power_of_two() || alignment < size_of::<usize>() {
        return libc::EINVAL;
    }
    let block = aligned(alignment, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: as the caller says.
    unsafe { place.write(block) };
    0
}

pub(crate) fn valloc(size: usize) -> *mut c_void {
    aligned(sys::page_size(), size)
}

pub(crate) fn pvalloc(size: usize) -> *mut c_void {
    let page = sys::page_size();
    match size.max(1).checked_next_multiple_of(page) {
        Some(size) => aligned(page, size),
        None => checked(core::ptr::null_mut()),
    }
}

/// # Safety
/// `block` must be null or a block of ours.
pub(crate) unsafe fn malloc_usable_size(block: *const c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    if owner::is_elsewhere(block) {
        // SAFETY: as the caller says.
        return unsafe { usable_size_elsewhere(block) };
    }
    // SAFETY: as the caller says, and mimalloc's.
    unsafe { mi_usable_size(block) }
}

/// # Safety
/// As for [`malloc_usable_size`].
#[cold]
unsafe fn usable_size_elsewhere(block: *const c_void) -> usize {
    match owner::of(block) {
        // SAFETY: as the caller says, and mimalloc's.
        Owner::Allocator => unsafe { mi_usable_size(block) },
        Owner::Growing(extent) => growing::len(extent),
        Owner::Foreign => foreign::usable_size(block),
    }
}

fn aligned(alignment: usize, size: usize) -> *mut c_void {
    checked(match arena::ready() {
        true => aligned_here(alignment.max(LEAST_ALIGNMENT), at_least(size)),
        false => host_malloc::memalign(alignment, size),
    })
}

/// Blocks that are aligned as the begin of every extent is.
fn aligned_here(alignment: usize, size: usize) -> *mut c_void {
    or_else(aligned::create(alignment, size), || {
        elsewhere::memalign(alignment, size)
    })
}

/// The block, or where there is none another one.
#[inline(always)]
fn or_else(block: *mut c_void, other: impl FnOnce() -> *mut c_void) -> *mut c_void {
    match block.is_null() {
        true => other(),
        false => block,
    }
}
