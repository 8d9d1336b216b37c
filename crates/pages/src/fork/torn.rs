//! Whether a child has its memory as it was at one moment. Where nothing keeps other
//! threads from writing, what was copied for it is older than the rest of it: for the
//! program that is as if those threads had been late, but an allocator's lists, that are
//! changed without locks, may be torn. It is told so in the child, before anything else
//! runs there.
#![expect(unsafe_code, reason = "calls a function by its number")]

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the copies of the fork that is under way are older than the rest.
static IS_TORN: AtomicBool = AtomicBool::new(false);

/// What the allocator does about it in the child; 0 for nothing.
static MENDER: AtomicUsize = AtomicUsize::new(0);

/// Says what is called in a child whose memory is not of one moment.
pub fn set_mender(mender: fn()) {
    MENDER.store(mender as usize, Ordering::Release);
}

/// Notes of the copies that are made whether they are so.
pub(super) fn note(is_torn: bool) {
    IS_TORN.store(is_torn, Ordering::Release);
}

/// In the child: mends what is torn.
pub(super) fn mend() {
    let mender = MENDER.load(Ordering::Acquire);
    if !IS_TORN.swap(false, Ordering::Acquire) || mender == 0 {
        return;
    }
    // SAFETY: what `set_mender` was given.
    let mend = unsafe { core::mem::transmute::<usize, fn()>(mender) };
    mend();
}
