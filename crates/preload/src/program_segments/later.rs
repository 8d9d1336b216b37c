//! Libraries: those that are there at the start, and those that a program
//! loads later by `dlopen`, as `java` does with `libjvm.so`.
//!
//! `dlopen` itself is left alone, since it goes by who calls it. Instead we
//! look, now and then, when the program maps memory, as long as it has one thread: a library
//! that was just loaded does so soon. A last look is before the first other thread.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hugetools_pages::config::{self, Config};
use hugetools_pages::rt::fork_gate;
use hugetools_pages::sys;

use crate::loader::lock;
use crate::loader::objects::{self, Object};

/// Milliseconds between two looks.
const PAUSE: u64 = 200;

/// Where the libraries that were seen begin; those that find no place are left
/// alone.
static SEEN: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];

/// How many objects had been loaded at the last look.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// When that was.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Whether a thread looks just now.
static LOOKING: AtomicBool = AtomicBool::new(false);

/// What is done with a library that is new.
type Put = fn(&Object<'_>, &Config);

/// Looks for libraries that were loaded meanwhile.
pub(super) fn watch(put: Put) {
    let config = config::get();
    // In the child of a fork the loader's lock may be held for ever.
    if !config.text_libs || fork_gate::forks() > 0 {
        return;
    }
    let now = sys::now();
    let last = LAST.load(Ordering::Relaxed);
    // Before the first look there is nothing to compare with.
    if last != 0 && now >= last + PAUSE {
        look_once(config, put);
    }
}

/// Looks for them where there will be other threads.
pub(super) fn look_last(put: Put) {
    let config = config::get();
    if config.text_libs && fork_gate::forks() == 0 && LAST.load(Ordering::Relaxed) != 0 {
        look_once(config, put);
    }
}

/// Looks, unless a thread does already, or another one may have the loader's list locked.
fn look_once(config: &Config, put: Put) {
    if LOOKING.swap(true, Ordering::Acquire) {
        return;
    }
    match lock::is_free() {
        true => look(config, put),
        // Threads that libc has made by itself may end again.
        false => LAST.store(sys::now().max(1), Ordering::Relaxed),
    }
    LOOKING.store(false, Ordering::Release);
}

/// Looks at all libraries, where there are new ones.
pub(super) fn look(config: &Config, put: Put) {
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
