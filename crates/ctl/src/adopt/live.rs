//! [`Effects`] on the running system.

use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use hugetools_model::process::Pid;

use super::effects::Effects;
use crate::sys::clock::own_time;
use crate::sys::collapse;

/// The running system.
#[derive(Debug)]
pub struct Live(Instant);

impl Live {
    /// The running system; its time begins now.
    #[expect(clippy::new_without_default, reason = "the time is no default")]
    pub fn new() -> Live {
        Live(Instant::now())
    }
}

impl Effects for Live {
    fn process(&mut self, pid: Pid) -> io::Result<OwnedFd> {
        collapse::open_pidfd(pid.get())
    }

    fn collapse(&mut self, process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
        collapse::collapse(process, range)
    }

    fn cpu(&self) -> Duration {
        own_time()
    }

    fn wall(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}
