//! What is done to processes that run already: one seam, so that a test can put a kernel
//! of its own there.

use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use hugetools_model::process::Pid;

/// What is done to processes that run already, and the clocks of it.
pub trait Adopts {
    /// A descriptor that stands for a process, whoever gets its number afterwards.
    ///
    /// # Errors
    /// When there is no such process, or the kernel has none (before Linux 5.3).
    fn process(&mut self, pid: Pid) -> io::Result<OwnedFd>;

    /// Puts the memory at these addresses together into huge pages; contents and
    /// addresses stay. An empty range asks whether that may be.
    ///
    /// # Errors
    /// Those of `process_madvise(2)` with `MADV_COLLAPSE` (Linux 6.1).
    fn collapse(&mut self, process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()>;

    /// How long this process has run on processors.
    fn cpu(&self) -> Duration;

    /// The time since some moment, which only grows.
    fn wall(&self) -> Duration;

    /// Waits.
    fn rest(&mut self, time: Duration);
}
