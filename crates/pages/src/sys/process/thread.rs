//! A thread that libc does not know: for a moment, with a stack of ours, and without
//! anything that a thread of libc's has of its own.
#![expect(unsafe_code, reason = "begins a thread on a stack that is passed")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;
use crate::sys::call::{Errno, Result, call, errno, set_errno};
use crate::sys::cast::extended;

/// What such a thread does.
pub type Function = extern "C" fn(*mut c_void) -> c_int;

/// All that threads of a process share, and a word that tells of the end.
const FLAGS: c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID;

/// Begins a thread with this one's signals, on the stack that ends at `top`; it ends
/// with `function`. `number` is its number while it is there, and then 0. By libc's
/// `clone(2)`, which knows how a thread begins on each machine.
///
/// # Errors
/// As `clone(2)`: `EAGAIN` where there may be no more threads.
///
/// # Safety
/// The stack must be nobody else's, and stay until the thread has ended. `function` must
/// make system calls of ours only, and look at nothing that each thread of libc's has
/// for itself, `errno` among it: that is the beginner's.
pub unsafe fn begin_thread(
    top: usize,
    function: Function,
    argument: *mut c_void,
    number: &'static AtomicU32,
) -> Result<()> {
    let (kept, word) = (errno(), number.as_ptr());
    let none: *mut c_void = core::ptr::null_mut();
    // SAFETY: as the caller says; `number` stays for good.
    let begun = unsafe {
        libc::clone(
            function,
            top as *mut c_void,
            FLAGS,
            argument,
            word,
            none,
            word,
        )
    };
    let error = errno();
    set_errno(kept);
    match begun {
        -1 => Err(error),
        _ => Ok(()),
    }
}

/// Waits until a thread of [`begin_thread`] has ended. The kernel's ring at its end is
/// one for all processes that might share the word.
pub fn wait_for_thread(number: &AtomicU32) {
    loop {
        let thread = number.load(Ordering::Acquire);
        if thread == 0 {
            return;
        }
        let word = number.as_ptr() as usize;
        let args = [word, extended(libc::FUTEX_WAIT), thread as usize, 0, 0, 0];
        match call(libc::SYS_futex, args) {
            Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
            // It is looked at again and again where it cannot be waited for.
            Err(_) => sys::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::side_stack::OwnStack;

    static SUM: AtomicU32 = AtomicU32::new(0);

    extern "C" fn add(argument: *mut c_void) -> c_int {
        sys::sleep(20);
        SUM.fetch_add(u32::try_from(argument.addr()).unwrap(), Ordering::SeqCst);
        0
    }

    #[test]
    fn a_thread_runs_and_ends() {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let stack = OwnStack::map(64 << 10).unwrap();
        let argument = core::ptr::without_provenance_mut(7);
        for turn in 1..=3 {
            // SAFETY: a stack of its own; the function only sleeps and counts.
            unsafe { begin_thread(stack.top(), add, argument, &NUMBER) }.unwrap();
            assert_ne!(NUMBER.load(Ordering::SeqCst), sys::gettid());
            wait_for_thread(&NUMBER);
            assert_eq!(SUM.load(Ordering::SeqCst), 7 * turn);
        }
    }
}
