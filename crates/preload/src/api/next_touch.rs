//! `huge_next_touch`, and `hugectl --next-touch`, which applies it to all large mappings.
#![expect(unsafe_code, reason = "calls libc's functions by their addresses")]

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::kernel::facts;
use hugetools_pages::next_touch::request::{Start, request};
use hugetools_pages::next_touch::{block_program_signals, for_each_movable};
use hugetools_pages::policy::start_facts;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, Errno, Filter, NoSignals, Result};
use hugetools_pages::{config, fork};

use crate::next::later::{PTHREAD_CREATE, PTHREAD_DETACH};

/// How long (ms) the number of threads must stay constant before memory moves.
const STABLE_MS: u64 = 1000;

/// Implements `huge_next_touch`; keeps `errno` on success.
pub(crate) fn huge_next_touch(addr: usize, len: usize) -> c_int {
    let before = sys::errno();
    fork::watch();
    start_facts::take();
    let end = addr.checked_add(len).ok_or(Errno(libc::EINVAL));
    let result = end.and_then(|end| request(&(addr..end), spawn));
    sys::set_errno(before);
    sys::c_result(result)
}

/// Creates a detached thread.
fn spawn(start: Start) -> Result<()> {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    type Detach = unsafe extern "C" fn(libc::pthread_t) -> c_int;
    // SAFETY: libc's prototype.
    let create = unsafe { PTHREAD_CREATE.function::<Create>() }.ok_or(Errno(libc::ENOSYS))?;
    // SAFETY: likewise.
    let detach = unsafe { PTHREAD_DETACH.function::<Detach>() }.ok_or(Errno(libc::ENOSYS))?;
    let mut thread = core::mem::MaybeUninit::<libc::pthread_t>::zeroed();
    // SAFETY: `start` ignores its argument.
    match unsafe { create(thread.as_mut_ptr(), core::ptr::null(), start, null_mut()) } {
        0 => {}
        error => return Err(Errno(error)),
    }
    // SAFETY: filled by libc.
    let thread = unsafe { thread.assume_init() };
    // SAFETY: created above, and never joined.
    unsafe { detach(thread) };
    Ok(())
}

/// Called before the program creates a thread. The first call starts a thread of ours that runs
/// [`wait_and_request`].
pub(crate) fn before_create() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if config::get().next_touch.is_none() || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    fork::watch();
    let _quiet = NoSignals::but_faults();
    if spawn(wait_and_request).is_err() {
        say(
            Level::Warning,
            format_args!("next touch: no pages will move, since no thread can be created"),
        );
    }
}

/// Waits until the number of threads is constant for [`STABLE_MS`], then requests the move
/// of all large mappings.
extern "C-unwind" fn wait_and_request(_: *mut c_void) -> *mut c_void {
    block_program_signals();
    let mut before = 0;
    loop {
        sys::sleep(STABLE_MS);
        // The program's own filter may kill the process for the next sleep.
        if sys::filter() == Filter::Own {
            return null_mut();
        }
        let now = facts::threads();
        // One is this thread, one the main thread.
        if now > 2 && now == before {
            break;
        }
        before = now;
    }
    request_all();
    null_mut()
}

/// Maximum number of mappings that move. Later ones stay.
const MAX_MAPPINGS: usize = 48;

fn request_all() {
    start_facts::take();
    let min_len = config::get().next_touch.unwrap_or(0);
    let min_len = usize::try_from(min_len).unwrap_or(usize::MAX);
    let mut all = [const { 0..0 }; MAX_MAPPINGS];
    let mut count = 0;
    for_each_movable(&(0..usize::MAX), |range, _| {
        if range.len() >= min_len && count < MAX_MAPPINGS {
            all[count] = range;
            count += 1;
        }
    });
    for range in &all[..count] {
        match request(range, spawn) {
            Ok(()) => {}
            // `request` has reported why, or the machine has one node.
            Err(Errno(libc::ENOTSUP)) => return,
            Err(Errno(error)) => say(
                Level::Warning,
                format_args!(
                    "next touch: memory at {:x} doesn't move: errno {error}",
                    range.start
                ),
            ),
        }
    }
}
