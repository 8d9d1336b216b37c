//! Signal handlers that stand before the program's own and pass on to it what
//! is not theirs.
#![expect(unsafe_code, reason = "installs and calls signal handlers")]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

/// A handler of ours for one signal; what it does not want, it chains.
#[derive(Debug)]
pub struct Handler {
    signal: c_int,
    wants: fn(usize) -> bool,
    entry: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    installed: AtomicBool,
    before: UnsafeCell<MaybeUninit<libc::sigaction>>,
}

// SAFETY: `before` is written by `install` only, before the handler is known
// to the kernel, and under the caller's promise that nobody else installs.
unsafe impl Sync for Handler {}

impl Handler {
    /// A handler for `signal` that is entered by `entry` and handles the
    /// addresses that `wants` takes.
    pub const fn new(
        signal: c_int,
        wants: fn(usize) -> bool,
        entry: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    ) -> Handler {
        Handler {
            signal,
            wants,
            entry,
            installed: AtomicBool::new(false),
            before: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Stands before the program's handler, where it does not yet. Callers take
    /// turns.
    pub fn install(&self) -> bool {
        let Some(now) = current(self.signal) else {
            return false;
        };
        if now.sa_sigaction == self.entry as usize {
            return false;
        }
        // SAFETY: see `Sync`: nobody reads it before the store below.
        unsafe { (*self.before.get()).write(now) };
        self.installed.store(true, Ordering::Release);
        // SAFETY: all bits zero are a valid sigaction.
        let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        ours.sa_sigaction = self.entry as usize;
        // On the stack that the program chose for its own handler, which may
        // be the only usable one.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: a valid action; the old one is not asked for.
        unsafe { libc::sigaction(self.signal, &raw const ours, core::ptr::null_mut()) };
        true
    }

    /// Gives the place back to the program's handler, unless the program has
    /// taken it meanwhile.
    pub fn remove(&self) {
        let ours = current(self.signal).is_some_and(|now| now.sa_sigaction == self.entry as usize);
        if let Some(before) = self.before().filter(|_| ours) {
            // SAFETY: the action that the kernel gave to `install`.
            unsafe { libc::sigaction(self.signal, before, core::ptr::null_mut()) };
        }
    }

    /// What `entry` does: handles the signal, or passes it on.
    ///
    /// # Safety
    /// The arguments must be what the kernel gave to `entry`.
    pub unsafe fn enter(&self, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel gives a valid siginfo to SA_SIGINFO handlers.
        let known = unsafe { &*info };
        // SAFETY: the field that signals for faults have; for others it is not
        // looked at.
        let addr = unsafe { known.si_addr() } as usize;
        let is_fault = known.si_code > 0;
        // Of SIGSEGV and SIGBUS the first two codes are about mappings; others
        // are about memory that is broken, or locked by keys.
        let is_about_mapping = matches!(known.si_code, 1 | 2);
        if !(is_about_mapping && (self.wants)(addr)) {
            self.chain(is_fault, info, context);
        }
    }

    fn before(&self) -> Option<&libc::sigaction> {
        if !self.installed.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: nobody writes after `installed` was set.
        let before = unsafe { &*self.before.get() };
        // SAFETY: written before `installed` was set.
        Some(unsafe { before.assume_init_ref() })
    }

    /// Does what would have happened without us.
    fn chain(&self, is_fault: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
        let action = self
            .before()
            .map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        match action {
            libc::SIG_IGN if !is_fault => {}
            // The kernel kills for a fault whose signal is ignored.
            libc::SIG_DFL | libc::SIG_IGN => self.let_it_kill(is_fault),
            _ => self.call(info, context),
        }
    }

    /// Restores the default action. A fault happens again on return, and then
    /// kills with everything as it was; a signal that was sent is sent again.
    fn let_it_kill(&self, is_fault: bool) {
        // SAFETY: all bits zero are the default action.
        let default: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: a valid action.
        unsafe { libc::sigaction(self.signal, &raw const default, core::ptr::null_mut()) };
        if !is_fault {
            // SAFETY: raises a signal in this thread, pending until we return.
            unsafe { libc::raise(self.signal) };
        }
    }

    /// Calls the program's handler, with the signals blocked that it asked for.
    fn call(&self, info: *mut libc::siginfo_t, context: *mut c_void) {
        let Some(before) = self.before() else {
            return;
        };
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: both sets are valid; the old mask is written.
        unsafe {
            libc::sigprocmask(
                libc::SIG_BLOCK,
                &raw const before.sa_mask,
                mask.as_mut_ptr(),
            )
        };
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            // SAFETY: an action with SA_SIGINFO holds such a function.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { core::mem::transmute(before.sa_sigaction) };
            handler(self.signal, info, context);
        } else {
            // SAFETY: an action without SA_SIGINFO holds such a function.
            let handler: extern "C" fn(c_int) =
                unsafe { core::mem::transmute(before.sa_sigaction) };
            handler(self.signal);
        }
        // SAFETY: the mask was written above.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask.as_ptr(), core::ptr::null_mut()) };
    }
}

fn current(signal: c_int) -> Option<libc::sigaction> {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: only asks.
    let result = unsafe { libc::sigaction(signal, core::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: written where the call succeeded.
    (result == 0).then(|| unsafe { now.assume_init() })
}
