//! Whether a filter of system calls (`seccomp(2)`) is in force, and which calls
//! are made then: the process may end at one that its program would not make.
//!
//! What its own malloc would do, libc's, is always done: `mmap`, `munmap`,
//! `mremap`, `mprotect`, `madvise`, `futex`. Where a filter was there before the
//! program began, files are read, too, as the loader of every program does. Once
//! the program has set one by itself nothing else is done at all; what would
//! have been asked then cannot be told.
//!
//! Of these, what hugectl has tried and was not let through is left out. Where a filter
//! was set between hugectl and the program, nobody has tried it: then nothing is copied
//! in the place of the program's segments, which no malloc would do.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// Which filter there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// None, as far as is known: one that was set by an instruction of the
    /// program's own instead of a function of libc's goes unseen until
    /// somebody looks.
    None,
    /// One that was there when the program began, or may have been: nobody has looked.
    Inherited,
    /// One that the program has set, or is about to.
    Own,
}

/// Whether there was one when the program began, or may have been.
const INHERITED: u32 = 1;

/// One that the program has set, or is about to: how many there are is counted.
const OWN: u32 = 2;

/// Until somebody looks; in unit tests nobody does.
const BEFORE: u32 = match cfg!(test) {
    true => 0,
    false => INHERITED,
};

/// What is known: [`INHERITED`], and [`OWN`] for each call that has set one, or that nobody
/// knows yet to have failed.
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

    fn none_before(&self) {
        self.0.fetch_and(!INHERITED, Ordering::Relaxed);
    }
}

/// Which filter there is.
pub fn filter() -> Filter {
    KNOWN.filter()
}

/// Notes that the program is about to set one: from now on it is there.
pub fn note_own_filter() {
    KNOWN.one_more();
}

/// Notes that a call which [`note_own_filter`] was for has failed: without those of other
/// calls there is what was there before.
pub fn note_failed_filter() {
    KNOWN.one_less();
}

/// Notes that none was there when the program began.
pub(crate) fn note_no_filter() {
    KNOWN.none_before();
}

/// Whether files may be read.
pub(super) fn may_read() -> bool {
    filter() != Filter::Own
}

/// Whether any call may be made.
pub(super) fn may_ask() -> bool {
    filter() == Filter::None
}

/// A call that a filter does not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Call {
    /// `mremap(2)`
    Mremap = 1,
    /// `madvise(2)`
    Madvise = 2,
    /// `mprotect(2)`, to what may be executed.
    Mprotect = 4,
}

static BARRED: AtomicU8 = AtomicU8::new(0);

/// Notes that a filter does not let a call through: it is made no more.
pub(crate) fn bar(call: Call) {
    BARRED.fetch_or(call as u8, Ordering::Relaxed);
}

/// Whether a call is not made, since a filter does not let it through.
pub(crate) fn is_barred(call: Call) -> bool {
    BARRED.load(Ordering::Relaxed) & call as u8 != 0
}

static UNTRIED: AtomicBool = AtomicBool::new(false);

/// Notes that there is a filter which was set after hugectl looked.
pub(crate) fn note_untried_filter() {
    UNTRIED.store(true, Ordering::Relaxed);
}

/// Whether there is one.
pub(crate) fn is_filter_untried() -> bool {
    UNTRIED.load(Ordering::Relaxed)
}

static FILES_PASS: AtomicBool = AtomicBool::new(false);

/// Notes that a filter that was there lets `memfd_create` and `ftruncate` through.
pub(crate) fn note_files_pass() {
    FILES_PASS.store(true, Ordering::Relaxed);
}

/// Whether files without a name may be made.
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
    fn what_was_there_before_a_call_that_failed_is_there_again() {
        let known = Known(AtomicU32::new(INHERITED));
        known.one_more();
        known.one_more();
        known.one_less();
        // The other call may have set one.
        assert_eq!(known.filter(), Filter::Own);
        known.one_less();
        assert_eq!(known.filter(), Filter::Inherited);
        known.one_more();
        known.none_before();
        assert_eq!(known.filter(), Filter::Own);
        known.one_less();
        assert_eq!(known.filter(), Filter::None);
    }
}
