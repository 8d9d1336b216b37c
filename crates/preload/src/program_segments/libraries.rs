//! Libraries loaded at the start or by `dlopen`, as `java` loads `libjvm.so`.
//!
//! No code of ours runs after a `dlopen` (see `dlopen.rs`). Instead the loader's list is checked
//! when a program with one thread maps memory, and before it creates its second thread.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hugetools_pages::config::{self, Config};
use hugetools_pages::rt::fork_gate;
use hugetools_pages::sys;

use crate::loader::lock;
use crate::loader::objects::{self, Object};

/// Minimum time (ms) between checks.
const PAUSE: u64 = 200;

/// Load addresses of the libraries seen. When it is full, new libraries are left alone.
static SEEN: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];

/// The loader's count of loads (`dlpi_adds`) at the last check.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// Time of the last check (monotonic ms); 0 for none.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A thread is checking.
static CHECKING: AtomicBool = AtomicBool::new(false);

/// Puts a new library on huge pages.
type Put = fn(&Object<'_>, &Config);

/// Checks for new libraries, at most once per [`PAUSE`].
pub(super) fn watch(put: Put) {
    let config = config::get();
    // In a forked child the loader's lock may be held for ever.
    if !config.text_libs || fork_gate::forks() > 0 {
        return;
    }
    let now = sys::now();
    let last = LAST.load(Ordering::Relaxed);
    // The constructor makes the first check.
    if last != 0 && now >= last + PAUSE {
        try_check(config, put);
    }
}

/// Checks for new libraries before the program creates its second thread.
pub(super) fn check_last(put: Put) {
    let config = config::get();
    if config.text_libs && fork_gate::forks() == 0 && LAST.load(Ordering::Relaxed) != 0 {
        try_check(config, put);
    }
}

/// Checks, unless another thread is checking or may hold the loader's lock.
fn try_check(config: &Config, put: Put) {
    if CHECKING.swap(true, Ordering::Acquire) {
        return;
    }
    match lock::is_surely_free() {
        true => check(config, put),
        // Threads of libc's own may end: `watch` tries again after [`PAUSE`].
        false => LAST.store(sys::now().max(1), Ordering::Relaxed),
    }
    CHECKING.store(false, Ordering::Release);
}

/// Checks all libraries if there are new ones.
pub(super) fn check(config: &Config, put: Put) {
    LAST.store(sys::now().max(1), Ordering::Relaxed);
    objects::each(|object| {
        if object.is_program {
            let before = LOADS.swap(object.loads, Ordering::Relaxed);
            return match before == object.loads && before != 0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
        }
        if !object.is_vdso() && is_new(object) && !object.has_text_relocations() {
            put(object, config);
        }
        ControlFlow::Continue(())
    });
}

fn is_new(object: &Object<'_>) -> bool {
    let known = |place: &AtomicUsize| {
        let taken = place.compare_exchange(0, object.base, Ordering::Relaxed, Ordering::Relaxed);
        (taken != Ok(0)).then(|| taken == Err(object.base))
    };
    for place in &SEEN {
        match known(place) {
            None => return true,
            Some(true) => return false,
            Some(false) => {}
        }
    }
    false
}
