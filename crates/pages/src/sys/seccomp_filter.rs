//! The system calls that we make under a seccomp filter. It may kill the process for calls that the
//! program itself never makes.
//!
//! * Under any filter: the calls of libc's malloc and threads (`mmap`, `munmap`, `mremap`,
//!   `mprotect`, `madvise`, `futex`, `rt_sigprocmask`), except calls that hugectl found rejected.
//! * Under a filter inherited from before `exec`, also those that read files, as every loader does.
//!
//! If a filter was set between hugectl and the program, it is untested, and segments aren't copied.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// The filter in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// None, as far as known: a filter set by a raw system call is unseen until checked.
    None,
    /// A filter inherited from before `exec`, or not checked yet.
    Inherited,
    /// A filter that the program has set or is setting.
    Own,
}

const INHERITED: u32 = 1;

/// Added for each filter that the program sets.
const OWN: u32 = 2;

/// State until filters are checked; unit tests have none.
const UNCHECKED: u32 = match cfg!(test) {
    true => 0,
    false => INHERITED,
};

/// [`INHERITED`], plus [`OWN`] for each call that sets a filter and hasn't failed.
struct FilterState(AtomicU32);

static STATE: FilterState = FilterState(AtomicU32::new(UNCHECKED));

impl FilterState {
    fn filter(&self) -> Filter {
        match self.0.load(Ordering::Relaxed) {
            0 => Filter::None,
            INHERITED => Filter::Inherited,
            _ => Filter::Own,
        }
    }

    fn add_own(&self) {
        self.0.fetch_add(OWN, Ordering::SeqCst);
    }

    fn remove_own(&self) {
        self.0.fetch_sub(OWN, Ordering::SeqCst);
    }

    fn clear_inherited(&self) {
        self.0.fetch_and(!INHERITED, Ordering::Relaxed);
    }
}

/// The filter in force.
pub fn filter() -> Filter {
    STATE.filter()
}

/// Records that the program is about to set a filter.
pub fn note_own_filter() {
    STATE.add_own();
}

/// Records that the call announced by [`note_own_filter`] failed.
pub fn note_failed_filter() {
    STATE.remove_own();
}

/// Records that no filter was inherited.
pub(crate) fn note_no_filter() {
    STATE.clear_inherited();
}

/// Whether the filter lets us read files.
pub(super) fn may_read_files() -> bool {
    filter() != Filter::Own
}

/// Whether we may make any call: without a filter.
pub(super) fn may_make_any_call() -> bool {
    filter() == Filter::None
}

/// A call that a filter may reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Call {
    /// `mremap(2)`
    Mremap = 1,
    /// `madvise(2)`
    Madvise = 2,
    /// `mprotect(2)` with `PROT_EXEC`.
    Mprotect = 4,
}

static REJECTED: AtomicU8 = AtomicU8::new(0);

/// Records that the filter rejects a call.
pub(crate) fn note_rejected(call: Call) {
    REJECTED.fetch_or(call as u8, Ordering::Relaxed);
}

/// Whether the filter rejects a call.
pub(crate) fn is_rejected(call: Call) -> bool {
    REJECTED.load(Ordering::Relaxed) & call as u8 != 0
}

static UNTESTED: AtomicBool = AtomicBool::new(false);

/// Records that a filter was set after hugectl's check.
pub(crate) fn note_untested_filter() {
    UNTESTED.store(true, Ordering::Relaxed);
}

/// Whether a filter was set after hugectl's check.
pub(crate) fn is_filter_untested() -> bool {
    UNTESTED.load(Ordering::Relaxed)
}

static MEMFD_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Records that the inherited filter allows `memfd_create` and `ftruncate`.
pub(crate) fn note_memfd_allowed() {
    MEMFD_ALLOWED.store(true, Ordering::Relaxed);
}

/// Whether the filter lets us create unnamed files.
pub(super) fn may_create_memfd() -> bool {
    match filter() {
        Filter::None => true,
        Filter::Inherited => MEMFD_ALLOWED.load(Ordering::Relaxed),
        Filter::Own => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_restores_the_previous_filter() {
        let known = FilterState(AtomicU32::new(INHERITED));
        known.add_own();
        known.add_own();
        known.remove_own();
        // The other call may have succeeded.
        assert_eq!(known.filter(), Filter::Own);
        known.remove_own();
        assert_eq!(known.filter(), Filter::Inherited);
        known.add_own();
        known.clear_inherited();
        assert_eq!(known.filter(), Filter::Own);
        known.remove_own();
        assert_eq!(known.filter(), Filter::None);
    }
}
