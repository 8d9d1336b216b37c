//! What happens around a fork: before it, nobody may be changing our memory,
//! and private hugetlb memory moves down; after it, child and parent go on.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::say::{Level, say};
use crate::{freeze, grant, move_down, register, weak};

/// Whether the gate was closed for the fork that is under way.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// How many forks there were, or are about to be.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many forks this process has prepared, or was made by.
pub fn count() -> u32 {
    COUNT.load(Ordering::Acquire)
}

/// Prepares for forks; the second time does nothing. To be called before huge
/// pages are handed out, and outside of any allocation.
pub fn watch() {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if WATCHING.swap(true, Ordering::AcqRel) {
        return;
    }
    if !weak::atfork(prepare, parent, child) {
        say(
            Level::Warning,
            format_args!("this libc has no pthread_atfork: forked children share hugetlb pages"),
        );
    }
}

extern "C" fn prepare() {
    COUNT.fetch_add(1, Ordering::AcqRel);
    if register::GATE.close() {
        CLOSED.store(true, Ordering::Relaxed);
        register::look(|| {
            grant::lend();
            move_down::move_down();
        });
    }
}

extern "C" fn parent() {
    if CLOSED.swap(false, Ordering::Relaxed) {
        register::GATE.open();
    }
}

extern "C" fn child() {
    if CLOSED.swap(false, Ordering::Relaxed) {
        register::GATE.open();
    } else {
        register::GATE.forget_others();
    }
    register::forget_readers();
    freeze::forget();
    grant::leave_behind();
}
