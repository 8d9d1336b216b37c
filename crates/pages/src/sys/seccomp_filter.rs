//! The system calls that we make under a seccomp filter, which may kill the process for calls that
//! its program never makes.
//!
//! * Under any filter: the calls of libc's malloc and threads (`mmap`, `munmap`, `mremap`,
//!   `mprotect`, `madvise`, `futex`, `rt_sigprocmask`), except calls that hugectl found rejected.
//! * Under a filter older than the program we also read files, as every loader does.
//!
//! A filter set between hugectl and the program is untested: then segments are not copied.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// The filter in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// None, as far as known: a filter set by a raw system call is unseen until checked.
    None,
    /// A filter older than the program, or not checked yet.
    Inherited,
    /// A filter that the program has set or is setting.
    Own,
}

const INHERITED: u32 = 1;

/// Each filter of the program adds this.
const OWN: u32 = 2;

/// State before the check; unit tests have no filter.
const BEFORE: u32 = match cfg!(test) {
    true => 0,
    false => INHERITED,
};

/// [`INHERITED`], plus [`OWN`] for each call that sets a filter and hasn't failed.
struct Known(AtomicU32);

static KNOWN: Known = Known(AtomicU32::new(BEFORE));

impl Known {
    fn filter(&self) -> Filter {
        match self.0.load(Ordering::Relaxed) {
            0 => Filter::None,
            INHERITED => Filter::Inherited,
            _ => Filter::Own,
        }
    }

    fn one_more(&self) {
        self.0.fetch_add(OWN, Ordering::SeqCst);
    }

    fn one_less(&self) {
        self.0.fetch_sub(OWN, Ordering::SeqCst);
    }

    fn clear_inherited(&self) {
        self.0.fetch_and(!INHERITED, Ordering::Relaxed);
    }
}

/// The filter in force.
pub fn filter() -> Filter {
    KNOWN.filter()
}

/// Notes that the program is about to set a filter.
pub fn note_own_filter() {
    KNOWN.one_more();
}

/// Notes that the call announced by [`note_own_filter`] failed.
pub fn note_failed_filter() {
    KNOWN.one_less();
}

/// Notes that no filter was set before the program.
pub(crate) fn note_no_filter() {
    KNOWN.clear_inherited();
}

/// Whether files may be read.
pub(super) fn may_read() -> bool {
    filter() != Filter::Own
}

/// Whether any call may be made.
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

/// Notes that the filter rejects a call.
pub(crate) fn note_rejected(call: Call) {
    REJECTED.fetch_or(call as u8, Ordering::Relaxed);
}

/// Whether the filter rejects a call.
pub(crate) fn is_rejected(call: Call) -> bool {
    REJECTED.load(Ordering::Relaxed) & call as u8 != 0
}

static UNTESTED: AtomicBool = AtomicBool::new(false);

/// Notes a filter that was set after hugectl's check.
pub(crate) fn note_untested_filter() {
    UNTESTED.store(true, Ordering::Relaxed);
}

/// Whether a filter was set after hugectl's check.
pub(crate) fn is_filter_untested() -> bool {
    UNTESTED.load(Ordering::Relaxed)
}

static FILES_PASS: AtomicBool = AtomicBool::new(false);

/// Notes that the inherited filter allows `memfd_create` and `ftruncate`.
pub(crate) fn note_files_pass() {
    FILES_PASS.store(true, Ordering::Relaxed);
}

/// Whether unnamed files may be created.
pub(super) fn may_make_files() -> bool {
    match filter() {
        Filter::None => true,
        Filter::Inherited => FILES_PASS.load(Ordering::Relaxed),
        Filter::Own => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_restores_the_previous_filter() {
        let known = Known(AtomicU32::new(INHERITED));
        known.one_more();
        known.one_more();
        known.one_less();
        // The other call may have succeeded.
        assert_eq!(known.filter(), Filter::Own);
        known.one_less();
        assert_eq!(known.filter(), Filter::Inherited);
        known.one_more();
        known.clear_inherited();
        assert_eq!(known.filter(), Filter::Own);
        known.one_less();
        assert_eq!(known.filter(), Filter::None);
    }
}
