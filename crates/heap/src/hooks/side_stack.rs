//! The slow paths of mimalloc: taking and returning a page, giving back what is free, and
//! the first call of a thread. All keep `errno`.
#![expect(unsafe_code, reason = "exports functions that mimalloc calls")]

use core::ffi::c_void;

use hugetools_pages::policy::growth;
use hugetools_pages::sys::{errno, set_errno};

use crate::hooks::thread;
use crate::large_blocks::overcommit;
use crate::mimalloc::{self, state};

/// Larger blocks have pages of their own, or nearly.
const SMALL: usize = 1 << 20;

/// Keeps `errno`: the system may refuse mimalloc
/// one way to memory, and another one serves the program's call after all.
fn apart<T>(work: impl FnOnce() -> T) -> T {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}

/// Takes a page for blocks of a size.
///
/// # Safety
/// To be called by mimalloc only.
#[unsafe(no_mangle)]
unsafe extern "C" fn hugetools_page_alloc(
    heap: *mut c_void,
    block_size: usize,
    alignment: usize,
) -> *mut c_void {
    if !overcommit::may_be_had(block_size) {
        return core::ptr::null_mut();
    }
    if alignment == 0 {
        let spare = mimalloc::hugetools_spare_page(block_size);
        if !spare.is_null() {
            return spare;
        }
    }
    if block_size > SMALL || !growth::is_kept() {
        // SAFETY: mimalloc's own arguments.
        return apart(|| unsafe { mimalloc::_mi_arenas_page_alloc(heap, block_size, alignment) });
    }
    // SAFETY: mimalloc's own arguments.
    unsafe { page_within_limit(heap, block_size, alignment) }
}

/// Takes a page where a control group limits memory; while that has little to spare, one
/// that a thread has left at its end, or none.
///
/// # Safety
/// As for mimalloc's function.
unsafe fn page_within_limit(heap: *mut c_void, block_size: usize, alignment: usize) -> *mut c_void {
    if growth::is_refusing() {
        if alignment > 0 {
            return core::ptr::null_mut();
        }
        // SAFETY: as the caller says.
        return apart(|| unsafe { mimalloc::hugetools_left_page(heap, block_size) });
    }
    // SAFETY: as the caller says.
    let page = apart(|| unsafe { mimalloc::hugetools_page_of_arenas(heap, block_size, alignment) });
    if page.is_null() && growth::is_tight() {
        growth::note_refused();
        if !state::gives_back_at_once() {
            give_back_at_once();
        }
    }
    page
}

/// From now on what is freed goes back at once; what waits for that goes before, since
/// mimalloc looks for no such thing any more then.
fn give_back_at_once() {
    apart(|| mimalloc::hugetools_give_back());
    state::give_back_at_once();
}

/// Whether blocks come from elsewhere just now: it is no use to collect what is free.
#[unsafe(no_mangle)]
extern "C" fn hugetools_is_refusing() -> bool {
    growth::is_refusing()
}

/// Returns a page.
///
/// # Safety
/// To be called by mimalloc only.
#[unsafe(no_mangle)]
unsafe extern "C" fn hugetools_page_free(page: *mut c_void, heap: *mut c_void) {
    // SAFETY: mimalloc's own arguments.
    apart(|| unsafe { mimalloc::_mi_arenas_page_free(page, heap) });
}

/// Gives back what has been free for a while.
///
/// # Safety
/// To be called by mimalloc only.
#[unsafe(no_mangle)]
unsafe extern "C" fn hugetools_purge(force: bool, visit_all: bool, thread: *mut c_void) {
    // SAFETY: mimalloc's own arguments.
    apart(|| unsafe { mimalloc::_mi_arenas_collect(force, visit_all, thread) });
}

/// Prepares mimalloc for a thread.
#[unsafe(no_mangle)]
extern "C" fn hugetools_thread_init() {
    apart(|| {
        if !mimalloc::hugetools_is_over() {
            thread::begin();
        }
        mimalloc::mi_thread_init();
    });
}
