//! Whether a filter of system calls (`seccomp(2)`) is in force, and which calls
//! are made then: the process may end at one that its program would not make.
//!
//! What its own malloc would do, libc's, is always done: `mmap`, `munmap`,
//! `mremap`, `mprotect`, `madvise`, `futex`. Where a filter was there before the
//! program began, files are read, too, as the loader of every program does. Once
//! the program has set one by itself nothing else is done at all; what would
//! have been asked then cannot be told.

use core::sync::atomic::{AtomicU8, Ordering};

/// Which filter there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Filter {
    /// None, as far as is known: one that was set by an instruction of the
    /// program's own instead of a function of libc's goes unseen until
    /// somebody looks.
    None = 0,
    /// One that was there when the program began, or may have been: nobody has looked.
    Inherited = 1,
    /// One that the program has set.
    Own = 2,
}

/// Until somebody looks; in unit tests nobody does.
const BEFORE: Filter = match cfg!(test) {
    true => Filter::None,
    false => Filter::Inherited,
};

static FILTER: AtomicU8 = AtomicU8::new(BEFORE as u8);

/// Which filter there is.
pub fn filter() -> Filter {
    match FILTER.load(Ordering::Relaxed) {
        0 => Filter::None,
        1 => Filter::Inherited,
        _ => Filter::Own,
    }
}

/// Notes that the program has set one.
pub fn note_own_filter() {
    FILTER.store(Filter::Own as u8, Ordering::Relaxed);
}

/// Notes that none was there when the program began.
pub(crate) fn note_no_filter() {
    let (maybe, none) = (Filter::Inherited as u8, Filter::None as u8);
    let _ = FILTER.compare_exchange(maybe, none, Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether files may be read.
pub(super) fn may_read() -> bool {
    filter() != Filter::Own
}

/// Whether any call may be made.
pub(super) fn may_ask() -> bool {
    filter() == Filter::None
}
