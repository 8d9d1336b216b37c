//! System calls on running processes, as a trait: tests simulate the kernel.

use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use hugetools_model::process::Pid;

/// System calls on running processes, and clocks.
pub trait Effects {
    /// Opens a pidfd, so that a later process with the same number is not meant.
    ///
    /// # Errors
    /// There is no such process, or the kernel has no pidfds (before Linux 5.3).
    fn process(&mut self, pid: Pid) -> io::Result<OwnedFd>;

    /// Collapses an address range into huge pages. An empty range checks the permission.
    ///
    /// # Errors
    /// Those of `process_madvise(2)` with `MADV_COLLAPSE` (Linux 6.1).
    fn collapse(&mut self, process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()>;

    /// CPU time of this process.
    fn cpu(&self) -> Duration;

    /// Monotonic time.
    fn wall(&self) -> Duration;

    /// Sleeps.
    fn sleep(&mut self, time: Duration);
}
