//! What is done just before a process gets its second thread.
#![expect(unsafe_code, reason = "calls a function by its number")]

use core::sync::atomic::{AtomicUsize, Ordering};

/// What is called then; 0 for nothing.
static TASK: AtomicUsize = AtomicUsize::new(0);

/// Has a function called once, when the program is about to make its first thread.
pub fn set(task: fn()) {
    TASK.store(task as usize, Ordering::Release);
}

/// The program is about to make a thread.
pub fn is_near() {
    if TASK.load(Ordering::Relaxed) == 0 {
        return;
    }
    match TASK.swap(0, Ordering::AcqRel) {
        0 => {}
        task => {
            // SAFETY: what `set` was given.
            let task = unsafe { core::mem::transmute::<usize, fn()>(task) };
            task();
        }
    }
}
