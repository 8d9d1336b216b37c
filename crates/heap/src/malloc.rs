//! The malloc family: mimalloc, with libc's errors.
//!
//! **Invariants.** A block is freed by the malloc that made it. `malloc` and `free` each cost two
//! comparisons more than mimalloc's.
//!
//! **Locks.** None.
//!
//! **At a fork.** As with any preloaded mimalloc.
#![expect(unsafe_code, reason = "takes blocks by address, as malloc does")]

use core::ffi::{c_int, c_void};

use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::extent::usage;
use hugetools_pages::sys::{self, Errno, set_errno};

use crate::host_malloc;
use crate::mimalloc::{
    mi_calloc, mi_collect, mi_free, mi_malloc, mi_malloc_aligned, mi_malloc_small, mi_realloc,
    mi_usable_size,
};
use crate::state::{self, Due};
use crate::{arena, idle, owner};

/// Up to this size (bytes) mimalloc has a faster function; at most its `MI_SMALL_SIZE_MAX`.
const SMALL: usize = 128 * size_of::<usize>();

/// From this size (bytes) on, a block outside all arenas is asked for again.
const LARGE: usize = 1 << 20;

/// Whether the heap is ours; starts it if necessary, and purges it if due.
#[inline(always)]
fn is_ours() -> bool {
    state::due().is_none_or(handle)
}

#[cold]
fn handle(due: Due) -> bool {
    match due {
        Due::Start => arena::start(),
        Due::CheckClock => {
            idle::check_at_malloc();
            true
        }
    }
}

fn invalid() -> *mut c_void {
    set_errno(Errno(libc::EINVAL));
    core::ptr::null_mut()
}

fn too_large() -> *mut c_void {
    set_errno(Errno(libc::ENOMEM));
    core::ptr::null_mut()
}

/// Returns what `get` returns, if possible in an arena.
#[inline(always)]
fn in_arena(size: usize, get: impl Fn() -> *mut c_void) -> *mut c_void {
    let block = get();
    match owner::is_outside(block) && (size >= LARGE || block.is_null()) {
        true => move_into_arena(block, 0, size, get),
        false => block,
    }
}

/// Replaces a block by one in an arena, if possible, and copies its first `used` bytes.
#[cold]
fn move_into_arena(
    block: *mut c_void,
    used: usize,
    size: usize,
    get: impl Fn() -> *mut c_void,
) -> *mut c_void {
    let Some(better) = arena::try_again(size, !block.is_null(), get) else {
        return block;
    };
    // SAFETY: both blocks have so many bytes, and nobody else uses them.
    unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), better.cast(), used) };
    // SAFETY: mimalloc's or null.
    unsafe { mi_free(block) };
    better
}

/// Returns a block for a small request, or null without memory; `None` if the request is larger,
/// or if other work is due first.
#[inline(always)]
pub(crate) fn allocate_small(size: usize) -> Option<*mut c_void> {
    let is_simple = state::due().is_none() && size <= SMALL;
    // SAFETY: the size is not above `MI_SMALL_SIZE_MAX`.
    is_simple.then(|| unsafe { mi_malloc_small(size) })
}

/// Returns a block, null without memory, or `None` if the program keeps another malloc.
pub(crate) fn allocate(size: usize) -> Option<*mut c_void> {
    if !is_ours() {
        return None;
    }
    Some(in_arena(size, || mi_malloc(size)))
}

#[inline(always)]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    allocate_small(size).unwrap_or_else(|| malloc_with_care(size))
}

#[inline(never)]
fn malloc_with_care(size: usize) -> *mut c_void {
    allocate(size).unwrap_or_else(|| host_malloc::malloc(size))
}

pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void {
    if !is_ours() {
        return host_malloc::calloc(count, size);
    }
    match count.checked_mul(size) {
        Some(total) => in_arena(total, || mi_calloc(count, size)),
        None => too_large(),
    }
}

/// # Safety
/// `block` must be null or a block that is no longer used.
#[inline(always)]
pub(crate) unsafe fn free(block: *mut c_void) {
    match needs_care(block) {
        // SAFETY: upheld by the caller.
        true => unsafe { free_with_care(block) },
        // SAFETY: a live block of mimalloc's.
        false => unsafe { mi_free(block) },
    }
}

/// Whether a freed block may be another malloc's, or lies at the start of 64 KiB. Such frees check
/// the clock: mimalloc's pages have their first blocks there, and reuse all blocks in turn.
#[inline(always)]
pub(crate) fn needs_care(block: *const c_void) -> bool {
    const OFFSET: usize = 0xfff0;
    owner::is_outside(block) || block.addr() & OFFSET == 0
}

/// # Safety
/// As for [`free`].
#[cold]
pub(crate) unsafe fn free_with_care(block: *mut c_void) {
    if state::is_watching() {
        idle::check_at_free();
    }
    match owner::is_foreign(block) {
        _ if block.is_null() => {}
        true => host_malloc::free(block),
        // SAFETY: a live block of mimalloc's.
        false => unsafe { mi_free(block) },
    }
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !is_ours() || owner::is_foreign(block) {
        return host_malloc::realloc(block, size);
    }
    // SAFETY: a live block of mimalloc's.
    let grown = unsafe { mi_realloc(block, size) };
    if size < LARGE || !owner::is_outside(grown) {
        return grown;
    }
    let kept = if grown.is_null() { block } else { grown };
    // SAFETY: a live block of mimalloc's.
    let used = unsafe { mi_usable_size(kept) }.min(size);
    match move_into_arena(kept, used, size, || mi_malloc(size)) {
        better if better != kept => better,
        _ => grown,
    }
}

/// # Safety
/// As for [`free`].
pub(crate) unsafe fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // An overflow is refused like any excessive size.
    // SAFETY: upheld by the caller.
    unsafe { realloc(block, count.saturating_mul(size)) }
}

/// `aligned_alloc` and `memalign`: rounds the alignment up, as glibc's `memalign` does.
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    match alignment.checked_next_power_of_two() {
        Some(alignment) => aligned(alignment, size),
        None => invalid(),
    }
}

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
    // SAFETY: upheld by the caller.
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
        None => too_large(),
    }
}

/// # Safety
/// `block` must be null or a block.
pub(crate) unsafe fn malloc_usable_size(block: *const c_void) -> usize {
    if owner::is_foreign(block) {
        return host_malloc::usable_size(block);
    }
    // SAFETY: upheld by the caller; null or mimalloc's.
    unsafe { mi_usable_size(block) }
}

/// `malloc_trim(3)`: gives free memory back to the kernel; returns 1 if there was any.
pub(crate) fn malloc_trim() -> c_int {
    if !is_ours() {
        return 0;
    }
    let before = usage::in_use();
    mi_collect(true);
    c_int::from(usage::in_use() < before)
}

/// `mallopt(3)`: returns 1 if a setting is accepted. They tune glibc's malloc and have no effect.
/// `M_PERTURB` fails: blocks aren't filled.
pub(crate) fn mallopt(parameter: c_int) -> c_int {
    /// As in glibc's `<malloc.h>`.
    const M_PERTURB: c_int = -6;
    c_int::from(parameter != M_PERTURB)
}

fn aligned(alignment: usize, size: usize) -> *mut c_void {
    if !is_ours() {
        return host_malloc::memalign(alignment, size);
    }
    let get = || mi_malloc_aligned(size, alignment);
    if alignment <= SLICE {
        return in_arena(size, get);
    }
    arena::note_outside(size);
    get()
}
