//! Why segments are not on the requested huge pages.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::policy::pool_backoff::Shortfall;
use crate::policy::thp::{self, NoThp};
use crate::sys::{self, Call, Errno};

/// Why a segment is not on huge pages, or not on the best ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It gets no pages of the pool.
    Pool(Shortfall),
    /// It gets no transparent huge pages.
    Thp(NoThp),
    /// It has no whole huge page.
    Small,
    /// The page cache holds the file in small pages.
    SmallPages,
    /// It was changed in memory, by relocations or a debugger.
    Changed,
    /// Other threads ran already.
    Threads,
    /// The kernel cannot move hugetlb memory (before Linux 5.16).
    OldKernel,
    /// No memory, address space or VMA left.
    NoMemory,
    /// The system forbids executing a copy.
    ExecDenied,
    /// Only pool pages were requested.
    NoFallback,
    /// The mapped file is not the executed one.
    OtherFile,
    /// Another process is still making the shared copy.
    Busy,
    /// The directory of shared copies can't be used.
    NoShareDir,
    /// Each address slice holds pages of one size (powerpc64).
    AddressSlices,
    /// Its address differs at each start, modulo the huge page.
    RandomAddress,
    /// Only a private copy was left, and hugectl didn't start this program.
    Wrapper,
    /// Private copies would take too much memory, or the available memory is unknown.
    TooMuch,
    /// The system rejects `mremap`.
    MremapRejected,
    /// Its offset in the file differs from its address, modulo the huge page.
    Misaligned,
    /// A seccomp filter was set after hugectl's check.
    FilterUntested,
    /// A seccomp filter may reject `memfd_create`.
    MemfdRejected,
    /// It is execute-only.
    Unreadable,
    /// A part was remapped or its protection changed before the program began.
    Modified,
}

impl Reason {
    /// The pool has no free page.
    pub const POOL_EMPTY: Reason = Reason::Pool(Shortfall::PoolEmpty);

    /// Whether it rules out the file's own pages only, not a copy.
    pub fn is_of_file(self) -> bool {
        matches!(
            self,
            Reason::SmallPages | Reason::Misaligned | Reason::Changed
        )
    }

    /// Whether it rules out private copies only, not the file's own pages.
    pub fn is_of_copy(self) -> bool {
        matches!(self, Reason::Wrapper | Reason::TooMuch)
    }

    /// Fails if a seccomp filter may reject `mremap`, which moves a copy into place.
    pub(super) fn check_filter() -> Result<(), Reason> {
        match sys::is_rejected(Call::Mremap) {
            true => Err(Reason::MremapRejected),
            false if sys::is_filter_untested() => Err(Reason::FilterUntested),
            false => Ok(()),
        }
    }

    /// Why a copy gets no transparent huge pages.
    pub(super) fn of_no_thp() -> Reason {
        Reason::Thp(thp::serves_private().err().unwrap_or(NoThp::Scarce))
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
            Reason::Pool(why) => why.reason().unwrap_or_default(),
            Reason::Thp(why) => why.reason(),
            Reason::OldKernel => "this kernel cannot move hugetlb memory",
            Reason::NoMemory => "no memory for a copy",
            Reason::MremapRejected => "mremap is refused: a seccomp filter, or sealed memory",
            Reason::ExecDenied => "the system does not allow a copy to be executed",
            Reason::MemfdRejected => "no pool pages: a seccomp filter refuses memfd_create",
            Reason::FilterUntested => "a seccomp filter came after hugectl; start hugectl after it",
            Reason::Unreadable => "it may be executed but not read or copied",
            Reason::Modified => "a part was changed before the program began",
            Reason::NoFallback => "only pool pages were requested",
            Reason::OtherFile => "not shared: the program's file cannot be identified or read",
            Reason::Busy => "not shared: another process is still making the copy",
            Reason::RandomAddress => {
                "not shared: its address is random; hugeedit --align mends that"
            }
            Reason::AddressSlices => {
                "this processor cannot mix pool pages and base pages in one address range"
            }
            Reason::Wrapper => {
                "not copied, since hugectl has not started this program itself, and each process \
                 would have a copy of its own"
            }
            Reason::TooMuch => {
                "not copied, since copies may take at most 1/16 of the memory available"
            }
            Reason::NoShareDir => "not shared: no file can be made in the directory",
        }
    }
}

/// All reasons that occur.
const ALL: [Reason; 32] = [
    Reason::Small,
    Reason::SmallPages,
    Reason::Changed,
    Reason::Threads,
    Reason::Pool(Shortfall::PoolEmpty),
    Reason::Pool(Shortfall::Limited),
    Reason::OldKernel,
    Reason::NoMemory,
    Reason::ExecDenied,
    Reason::Thp(NoThp::Never),
    Reason::Thp(NoThp::Disabled),
    Reason::Thp(NoThp::Absent),
    Reason::NoFallback,
    Reason::OtherFile,
    Reason::Busy,
    Reason::NoShareDir,
    Reason::AddressSlices,
    Reason::RandomAddress,
    Reason::Pool(Shortfall::Own),
    Reason::Wrapper,
    Reason::TooMuch,
    Reason::Pool(Shortfall::Valgrind),
    Reason::Pool(Shortfall::PoolUnread),
    Reason::MremapRejected,
    Reason::Thp(NoThp::Scarce),
    Reason::Misaligned,
    Reason::Thp(NoThp::Refused),
    Reason::Thp(NoThp::Unknown),
    Reason::FilterUntested,
    Reason::MemfdRejected,
    Reason::Unreadable,
    Reason::Modified,
];

/// The last reason, for the report.
#[derive(Debug)]
pub struct Outcome(AtomicUsize);

impl Outcome {
    /// Records a reason.
    pub fn note(&self, why: Reason) {
        let number = (1..).zip(ALL).find(|(_, known)| *known == why);
        self.0
            .store(number.map_or(0, |(number, _)| number), Ordering::Relaxed);
    }

    /// The last reason.
    pub fn why(&self) -> Option<Reason> {
        let number = self.0.load(Ordering::Relaxed);
        number.checked_sub(1).and_then(|at| ALL.get(at)).copied()
    }
}

/// For code and read-only data.
pub static TEXT: Outcome = Outcome(AtomicUsize::new(0));

/// For data and bss.
pub static DATA: Outcome = Outcome(AtomicUsize::new(0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted_reasons_are_returned() {
        let outcome = Outcome(AtomicUsize::new(0));
        assert_eq!(outcome.why(), None);
        for why in ALL {
            outcome.note(why);
            assert_eq!(outcome.why(), Some(why));
            assert!(!why.reason().is_empty());
        }
    }
}
