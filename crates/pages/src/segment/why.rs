//! What has kept segments from the huge pages that were asked for.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::thp::{self, NoThp};
use crate::sys::{self, Call, Errno};

/// Why a segment is not, or not in the best way, on huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// No whole huge page lies in it.
    Small = 1,
    /// The file's own pages are small.
    SmallPages = 2,
    /// It was changed in memory: relocated, or by a debugger.
    Changed = 3,
    /// Other threads ran already.
    Threads = 4,
    /// The pool has no page left.
    PoolEmpty = 5,
    /// The pool has pages, but not for this process.
    Limited = 6,
    /// The kernel cannot move hugetlb memory (before Linux 5.16).
    OldKernel = 7,
    /// There is no memory, address space or mapping left.
    NoMemory = 8,
    /// A copy may not be executed.
    Denied = 9,
    /// Transparent huge pages are switched off for all.
    ThpNever = 10,
    /// Transparent huge pages are switched off for this process.
    ThpDisabled = 11,
    /// There are no transparent huge pages.
    ThpAbsent = 12,
    /// Nothing but pool pages was asked for.
    NoFallback = 13,
    /// What runs is not the file that was executed.
    OtherFile = 14,
    /// Another process takes long to make the shared copy.
    Busy = 15,
    /// No file can be made in the directory of shared copies.
    NoShelf = 16,
    /// Pages of this size cannot lie beside others.
    Slices = 17,
    /// It lies elsewhere at each start, modulo the huge page.
    Wanders = 18,
    /// This process has taken as much of the pool as it may.
    Own = 19,
    /// Only a copy that others cannot share was left, and this is not the
    /// program that hugectl started.
    Wrapper = 20,
    /// Other processes map the file, and could not share a copy.
    Mapped = 21,
    /// Copies that others cannot share would take too much memory.
    TooMuch = 22,
    /// Whether others map the file cannot be told.
    Untold = 23,
    /// Valgrind runs the program.
    Valgrind = 24,
    /// The pool gave no page, and its counters cannot be read.
    PoolUnread = 25,
    /// Memory may not be moved to another address.
    Refused = 26,
    /// The memory control group has too little left for a copy, or cannot be seen.
    Scarce = 27,
    /// It lies in memory otherwise than in its file, huge page by huge page.
    Elsewhere = 28,
    /// A filter of system calls does not let `madvise` through.
    ThpRefused = 29,
    /// A filter of system calls was set after hugectl has tried what is let through.
    Untried = 30,
    /// A filter of system calls may not let `memfd_create` through.
    NoFile = 31,
    /// Its code may be executed, but not read.
    Unreadable = 32,
    /// A library that began before has mapped, protected or advised a part of it.
    Taken = 33,
}

impl Why {
    /// Whether it kept a segment from its file's own pages, for which a copy may
    /// stand.
    pub fn is_of_file(self) -> bool {
        matches!(self, Why::SmallPages | Why::Elsewhere | Why::Changed)
    }

    /// Whether a copy that others cannot share was not made, for which the
    /// file's own pages are the cure.
    pub fn is_of_copy(self) -> bool {
        matches!(
            self,
            Why::Wrapper | Why::Mapped | Why::TooMuch | Why::Untold
        )
    }

    /// Whether a copy can be put in its place, as far as filters of system calls go.
    ///
    /// # Errors
    /// Where that is known not to be, or not known.
    pub(super) fn of_filter() -> Result<(), Why> {
        match sys::is_barred(Call::Mremap) {
            true => Err(Why::Refused),
            false if sys::is_filter_untried() => Err(Why::Untried),
            false => Ok(()),
        }
    }

    /// Why memory for a copy has no transparent huge pages.
    pub(super) fn of_no_thp() -> Why {
        thp::serves_private().err().map_or(Why::Scarce, Why::from)
    }

    /// Why a copy could not be put in its place.
    pub(super) fn of_replace(error: Errno) -> Why {
        match error {
            Errno(libc::EPERM | libc::EACCES | libc::ENOSYS) => Why::Refused,
            _ => Why::NoMemory,
        }
    }

    /// Why pages of a pool could not be moved.
    pub(super) fn of_move(error: Errno) -> Why {
        match Why::of_replace(error) {
            Why::Refused => Why::Refused,
            _ => Why::OldKernel,
        }
    }

    /// Whether it kept a copy from being shared, which is a loss wherever its pages lie.
    pub fn is_of_sharing(self) -> bool {
        matches!(
            self,
            Why::OtherFile | Why::Busy | Why::NoShelf | Why::Wanders
        )
    }

    /// The reason in words, for a report.
    pub fn reason(self) -> &'static str {
        match self {
            Why::Small => "no whole huge page lies in it",
            Why::SmallPages => "the file system keeps the file on base pages",
            Why::Elsewhere => {
                "not the file's own pages, since it lies otherwise in memory than in the file; \
                 hugeedit --align mends that"
            }
            Why::Changed => "changed in memory, so not the file's own pages",
            Why::Threads => "threads ran before it could be moved",
            Why::PoolEmpty => "the pool has no page left",
            Why::Limited => {
                "the pool has pages, but a cgroup, cpuset or policy limits this process"
            }
            Why::OldKernel => "this kernel cannot move hugetlb memory",
            Why::NoMemory => "no memory for a copy",
            Why::Scarce => NoThp::Scarce.reason(),
            Why::Refused => {
                "the system refuses mremap, which puts a copy in its place: a filter of system \
                 calls, or sealed memory"
            }
            Why::Denied => "the system does not allow a copy to be executed",
            Why::ThpNever => NoThp::Never.reason(),
            Why::ThpDisabled => NoThp::Disabled.reason(),
            Why::ThpAbsent => NoThp::Absent.reason(),
            Why::ThpRefused => NoThp::Refused.reason(),
            Why::NoFile => {
                "not on pages of a pool, since a filter of system calls does not let memfd_create \
                 through, or nobody has tried that"
            }
            Why::Untried => {
                "a filter of system calls was set behind hugectl, so nobody knows whether it lets \
                 a copy be put in its place; hugectl started behind that tries it"
            }
            Why::Unreadable => "it may be executed, but not read, and so not copied",
            Why::Taken => "what began before the program has changed a part of it",
            Why::NoFallback => "nothing but pool pages was asked for",
            Why::OtherFile => "not shared, since the program's file cannot be told",
            Why::Busy => "not shared, since another process takes long to make the copy",
            Why::Wanders => {
                "not shared, since it lies elsewhere at each start; hugeedit --align mends that"
            }
            Why::Own => "the limit of this process (HUGETLB_LIMIT) is reached",
            Why::Slices => "this processor cannot have pool pages beside base pages",
            Why::Wrapper => {
                "not copied, since hugectl has not started this program itself, and each process \
                 would have a copy of its own"
            }
            Why::Mapped => {
                "not copied, since other processes map the file and could not share the copy"
            }
            Why::TooMuch => {
                "not copied, since the copy would take more than 1/16 of the memory available"
            }
            Why::Untold => "not copied, since it cannot be told whether others map the file",
            Why::Valgrind => pool_backoff::VALGRIND,
            Why::PoolUnread => pool_backoff::POOL_UNREAD,
            Why::NoShelf => "not shared, since no file can be made in the directory",
        }
    }
}

impl From<Shortfall> for Why {
    fn from(shortfall: Shortfall) -> Why {
        match shortfall {
            Shortfall::Limited => Why::Limited,
            Shortfall::Own => Why::Own,
            Shortfall::Valgrind => Why::Valgrind,
            Shortfall::PoolUnread => Why::PoolUnread,
            _ => Why::PoolEmpty,
        }
    }
}

impl From<NoThp> for Why {
    fn from(why: NoThp) -> Why {
        match why {
            NoThp::Absent => Why::ThpAbsent,
            NoThp::Never | NoThp::SharedNever | NoThp::SizeNever => Why::ThpNever,
            NoThp::Disabled => Why::ThpDisabled,
            NoThp::Scarce => Why::Scarce,
            NoThp::Unknown => Why::NoMemory,
            NoThp::Refused => Why::ThpRefused,
        }
    }
}

/// In the order of their numbers.
const ALL: [Why; 33] = [
    Why::Small,
    Why::SmallPages,
    Why::Changed,
    Why::Threads,
    Why::PoolEmpty,
    Why::Limited,
    Why::OldKernel,
    Why::NoMemory,
    Why::Denied,
    Why::ThpNever,
    Why::ThpDisabled,
    Why::ThpAbsent,
    Why::NoFallback,
    Why::OtherFile,
    Why::Busy,
    Why::NoShelf,
    Why::Slices,
    Why::Wanders,
    Why::Own,
    Why::Wrapper,
    Why::Mapped,
    Why::TooMuch,
    Why::Untold,
    Why::Valgrind,
    Why::PoolUnread,
    Why::Refused,
    Why::Scarce,
    Why::Elsewhere,
    Why::ThpRefused,
    Why::Untried,
    Why::NoFile,
    Why::Unreadable,
    Why::Taken,
];

/// What is remembered for the report.
#[derive(Debug)]
pub struct Outcome(AtomicU8);

impl Outcome {
    /// Remembers why the last rung that was tried did not hold all of it.
    pub fn note(&self, why: Why) {
        self.0.store(why as u8, Ordering::Relaxed);
    }

    /// What was noted last.
    pub fn why(&self) -> Option<Why> {
        let noted = self.0.load(Ordering::Relaxed);
        let why = usize::from(noted).checked_sub(1).and_then(|at| ALL.get(at));
        why.copied()
    }
}

/// Of the program's code and read-only data.
pub static TEXT: Outcome = Outcome(AtomicU8::new(0));

/// Of its data and bss.
pub static DATA: Outcome = Outcome(AtomicU8::new(0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_found() {
        let outcome = Outcome(AtomicU8::new(0));
        assert_eq!(outcome.why(), None);
        for why in ALL {
            outcome.note(why);
            assert_eq!(outcome.why(), Some(why));
            assert!(!why.reason().is_empty());
        }
    }
}
