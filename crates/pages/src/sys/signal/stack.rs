//! The stack that a thread has named for handlers of signals.
#![expect(unsafe_code, reason = "reads what the kernel has filled")]

use core::mem::MaybeUninit;
use core::ops::Range;

use crate::sys::call::{Result, ask, call};

/// Where that of this thread is; `None` where it has none.
pub fn signal_stack() -> Option<Range<usize>> {
    let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
    let args = [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0];
    ask(libc::SYS_sigaltstack, args).ok()?;
    // SAFETY: all bits zero are a stack, and the kernel has filled it.
    let stack = unsafe { stack.assume_init() };
    let start = stack.ss_sp as usize;
    (stack.ss_flags & libc::SS_DISABLE == 0).then(|| start..start.saturating_add(stack.ss_size))
}

/// `sigaltstack(2)`, with the addresses of the new one and of a place for the
/// old one.
///
/// # Errors
/// As the system call.
pub fn sigaltstack(new: usize, old: usize) -> Result<()> {
    call(libc::SYS_sigaltstack, [new, old, 0, 0, 0, 0]).map(drop)
}

/// The stack that a thread has named for handlers of signals, if any.
#[derive(Debug, Clone, Copy)]
pub struct SignalStack(Option<libc::stack_t>);

impl SignalStack {
    /// That of this thread.
    pub fn of_this_thread() -> SignalStack {
        let mut own = NONE;
        let asked = sigaltstack(0, core::ptr::from_mut(&mut own) as usize);
        SignalStack::named(asked, own)
    }

    fn named(asked: Result<()>, own: libc::stack_t) -> SignalStack {
        let is_named = own.ss_flags & libc::SS_DISABLE == 0;
        SignalStack((asked.is_ok() && is_named).then_some(own))
    }

    /// Has this thread name it where it has named none.
    pub fn name_again(&self) {
        if self.0.is_some() && SignalStack::of_this_thread().0.is_none() {
            self.name();
        }
    }

    fn name(&self) {
        if let Some(mut own) = self.0 {
            own.ss_flags &= !libc::SS_ONSTACK;
            let _ = sigaltstack(core::ptr::from_ref(&own) as usize, 0);
        }
    }
}

const NONE: libc::stack_t = libc::stack_t {
    ss_sp: core::ptr::null_mut(),
    ss_flags: libc::SS_DISABLE,
    ss_size: 0,
};

/// As long as it lives, this thread has named no stack for handlers of signals:
/// they run where it is.
#[derive(Debug)]
pub struct NoSignalStack(SignalStack);

impl NoSignalStack {
    /// Begins that. Not to be called on such a stack itself: the kernel leaves it
    /// then.
    pub fn begin() -> NoSignalStack {
        let mut own = NONE;
        let new = core::ptr::from_ref(&NONE) as usize;
        let changed = sigaltstack(new, core::ptr::from_mut(&mut own) as usize);
        NoSignalStack(SignalStack::named(changed, own))
    }
}

impl Drop for NoSignalStack {
    fn drop(&mut self) {
        self.0.name();
    }
}
