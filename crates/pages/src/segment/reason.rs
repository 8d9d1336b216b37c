//! Why segments are not on the requested huge pages.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::thp::{self, NoThp};
use crate::sys::{self, Call, Errno};

/// Why a segment is not on huge pages, or not on the best ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// It has no whole huge page.
    Small = 1,
    /// The page cache holds the file in small pages.
    SmallPages = 2,
    /// It was changed in memory, by relocations or a debugger.
    Changed = 3,
    /// Other threads ran already.
    Threads = 4,
    /// The pool has no free page.
    PoolEmpty = 5,
    /// The pool has pages, but this process is limited.
    Limited = 6,
    /// The kernel cannot move hugetlb memory (before Linux 5.16).
    OldKernel = 7,
    /// No memory, address space or VMA left.
    NoMemory = 8,
    /// The system forbids executing a copy.
    ExecDenied = 9,
    /// Transparent huge pages are off for all.
    ThpNever = 10,
    /// Transparent huge pages are off for this process.
    ThpDisabled = 11,
    /// The kernel has no transparent huge pages.
    ThpAbsent = 12,
    /// Only pool pages were requested.
    NoFallback = 13,
    /// The mapped file is not the executed one.
    OtherFile = 14,
    /// Another process is still making the shared copy.
    Busy = 15,
    /// The directory of shared copies can't be used.
    NoShareDir = 16,
    /// Each address slice holds pages of one size (powerpc64).
    AddressSlices = 17,
    /// Its address differs at each start, modulo the huge page.
    RandomAddress = 18,
    /// The quota of this process is used up.
    Quota = 19,
    /// Only a private copy was left, and hugectl didn't start this program.
    Wrapper = 20,
    /// Private copies would take too much memory.
    TooMuch = 21,
    /// The available memory is unknown.
    MemoryUnknown = 22,
    /// Valgrind runs the program.
    Valgrind = 23,
    /// The pool gave no page, and its counters are unreadable.
    PoolUnread = 24,
    /// The system rejects `mremap`.
    MremapRejected = 25,
    /// The memory control group (or, if it is invisible, the machine) has too little left for a
    /// copy.
    Scarce = 26,
    /// Its offset in the file differs from its address, modulo the huge page.
    Misaligned = 27,
    /// A seccomp filter rejects `madvise`.
    MadviseRejected = 28,
    /// A seccomp filter was set after hugectl's check.
    FilterUntested = 29,
    /// A seccomp filter may reject `memfd_create`.
    MemfdRejected = 30,
    /// It is execute-only.
    Unreadable = 31,
    /// A library's constructor has mapped or protected part of it anew.
    Modified = 32,
}

impl Reason {
    /// Whether it rules out the file's own pages only, not a copy.
    pub fn is_of_file(self) -> bool {
        matches!(
            self,
            Reason::SmallPages | Reason::Misaligned | Reason::Changed
        )
    }

    /// Whether it rules out private copies only, not the file's own pages.
    pub fn is_of_copy(self) -> bool {
        matches!(
            self,
            Reason::Wrapper | Reason::TooMuch | Reason::MemoryUnknown
        )
    }

    /// Fails if a seccomp filter may reject `mremap`, which moves a copy into place.
    pub(super) fn of_filter() -> Result<(), Reason> {
        match sys::is_rejected(Call::Mremap) {
            true => Err(Reason::MremapRejected),
            false if sys::is_filter_untested() => Err(Reason::FilterUntested),
            false => Ok(()),
        }
    }

    /// Why a copy gets no transparent huge pages.
    pub(super) fn of_no_thp() -> Reason {
        thp::serves_private()
            .err()
            .map_or(Reason::Scarce, Reason::from)
    }

    /// Why a copy could not be moved into place.
    pub(super) fn of_replace(error: Errno) -> Reason {
        match error {
            Errno(libc::EPERM | libc::EACCES | libc::ENOSYS) => Reason::MremapRejected,
            _ => Reason::NoMemory,
        }
    }

    /// Why a copy could not be mapped with its protection.
    pub(super) fn of_access(error: Errno) -> Reason {
        match error {
            Errno(libc::EACCES | libc::EPERM) => Reason::ExecDenied,
            _ => Reason::NoMemory,
        }
    }

    /// Why pool pages could not be moved.
    pub(super) fn of_move(error: Errno) -> Reason {
        match Reason::of_replace(error) {
            Reason::MremapRejected => Reason::MremapRejected,
            _ => Reason::OldKernel,
        }
    }

    /// Whether it rules out a shared copy only.
    pub fn is_of_sharing(self) -> bool {
        matches!(
            self,
            Reason::OtherFile | Reason::Busy | Reason::NoShareDir | Reason::RandomAddress
        )
    }

    /// The reason in words, for a report.
    pub fn reason(self) -> &'static str {
        match self {
            Reason::Small => "no whole huge page lies in it",
            Reason::SmallPages => "the file system keeps the file on base pages",
            Reason::Misaligned => {
                "misaligned for the file's own pages; hugeedit --align mends that"
            }
            Reason::Changed => "changed in memory, so not the file's own pages",
            Reason::Threads => "threads ran before it could be moved",
            Reason::PoolEmpty => "the pool has no free page",
            Reason::Limited => {
                "a hugetlb cgroup, cpuset or memory policy allows no more of the pool's pages"
            }
            Reason::OldKernel => "this kernel cannot move hugetlb memory",
            Reason::NoMemory => "no memory for a copy",
            Reason::Scarce => NoThp::Scarce.reason(),
            Reason::MremapRejected => "mremap is refused: a seccomp filter, or sealed memory",
            Reason::ExecDenied => "the system does not allow a copy to be executed",
            Reason::ThpNever => NoThp::Never.reason(),
            Reason::ThpDisabled => NoThp::Disabled.reason(),
            Reason::ThpAbsent => NoThp::Absent.reason(),
            Reason::MadviseRejected => NoThp::Refused.reason(),
            Reason::MemfdRejected => "no pool pages: a seccomp filter refuses memfd_create",
            Reason::FilterUntested => "a seccomp filter came after hugectl; start hugectl after it",
            Reason::Unreadable => "it may be executed but not read or copied",
            Reason::Modified => "a part was changed before the program began",
            Reason::NoFallback => "nothing but pool pages was asked for",
            Reason::OtherFile => "not shared: the program's file cannot be identified or read",
            Reason::Busy => "not shared: another process is still making the copy",
            Reason::RandomAddress => {
                "not shared: its address is random; hugeedit --align mends that"
            }
            Reason::Quota => "the limit of this process (HUGETLB_LIMIT) is reached",
            Reason::AddressSlices => {
                "this processor cannot mix pool pages and base pages in one address range"
            }
            Reason::Wrapper => {
                "not copied, since hugectl has not started this program itself, and each process \
                 would have a copy of its own"
            }
            Reason::TooMuch => {
                "not copied, since the copy would take more than 1/16 of the memory available"
            }
            Reason::MemoryUnknown => "not copied, since the available memory cannot be read",
            Reason::Valgrind => pool_backoff::VALGRIND,
            Reason::PoolUnread => pool_backoff::POOL_UNREAD,
            Reason::NoShareDir => "not shared: no file can be made in the directory",
        }
    }
}

impl From<Shortfall> for Reason {
    fn from(shortfall: Shortfall) -> Reason {
        match shortfall {
            Shortfall::Limited => Reason::Limited,
            Shortfall::Own => Reason::Quota,
            Shortfall::Valgrind => Reason::Valgrind,
            Shortfall::PoolUnread => Reason::PoolUnread,
            _ => Reason::PoolEmpty,
        }
    }
}

impl From<NoThp> for Reason {
    fn from(why: NoThp) -> Reason {
        match why {
            NoThp::Absent => Reason::ThpAbsent,
            NoThp::Never | NoThp::SharedNever | NoThp::SizeNever => Reason::ThpNever,
            NoThp::Disabled => Reason::ThpDisabled,
            NoThp::Scarce => Reason::Scarce,
            NoThp::Unknown => Reason::NoMemory,
            NoThp::Refused => Reason::MadviseRejected,
        }
    }
}

/// All variants, by number, from 1.
const ALL: [Reason; 32] = [
    Reason::Small,
    Reason::SmallPages,
    Reason::Changed,
    Reason::Threads,
    Reason::PoolEmpty,
    Reason::Limited,
    Reason::OldKernel,
    Reason::NoMemory,
    Reason::ExecDenied,
    Reason::ThpNever,
    Reason::ThpDisabled,
    Reason::ThpAbsent,
    Reason::NoFallback,
    Reason::OtherFile,
    Reason::Busy,
    Reason::NoShareDir,
    Reason::AddressSlices,
    Reason::RandomAddress,
    Reason::Quota,
    Reason::Wrapper,
    Reason::TooMuch,
    Reason::MemoryUnknown,
    Reason::Valgrind,
    Reason::PoolUnread,
    Reason::MremapRejected,
    Reason::Scarce,
    Reason::Misaligned,
    Reason::MadviseRejected,
    Reason::FilterUntested,
    Reason::MemfdRejected,
    Reason::Unreadable,
    Reason::Modified,
];

/// The last reason, for the report.
#[derive(Debug)]
pub struct Outcome(AtomicU8);

impl Outcome {
    /// Records a reason.
    pub fn note(&self, why: Reason) {
        self.0.store(why as u8, Ordering::Relaxed);
    }

    /// The last reason.
    pub fn why(&self) -> Option<Reason> {
        let noted = self.0.load(Ordering::Relaxed);
        let why = usize::from(noted).checked_sub(1).and_then(|at| ALL.get(at));
        why.copied()
    }
}

/// For code and read-only data.
pub static TEXT: Outcome = Outcome(AtomicU8::new(0));

/// For data and bss.
pub static DATA: Outcome = Outcome(AtomicU8::new(0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted_reasons_are_returned() {
        let outcome = Outcome(AtomicU8::new(0));
        assert_eq!(outcome.why(), None);
        for why in ALL {
            outcome.note(why);
            assert_eq!(outcome.why(), Some(why));
            assert!(!why.reason().is_empty());
        }
    }
}
