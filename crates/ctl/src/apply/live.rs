//! [`Effects`] on the running system.

use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use hugetools_model::process::Pid;
use hugetools_model::smaps::{Record, records};
use hugetools_model::{Bytes, KPath, Root};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::adopt::effects::Adopts;
use crate::apply::effects::{Cached, Effects, Piece};
use crate::sys::clock::own_time;
use crate::sys::page_cache::{Window, write_back};
use crate::sys::{collapse, pidfd};

/// So much is written before the clock is looked at.
const STEP: u64 = 8 << 20;

/// The running system.
#[derive(Debug)]
pub struct Live<'r> {
    root: &'r Root,
    start: Instant,
}

impl<'r> Live<'r> {
    /// The running system, whose `/proc` is below `root`.
    pub fn new(root: &'r Root) -> Live<'r> {
        Live {
            root,
            start: Instant::now(),
        }
    }
}

impl Live<'_> {
    /// Maps a piece and touches it, and says what came.
    fn touch(&self, piece: Piece<'_>, limit: Duration) -> io::Result<(Window, Cached)> {
        let window = Window::new(piece.file, piece.parts, piece.size.get())?;
        window.touch(limit)?;
        let cached = self.count(&window)?;
        Ok((window, cached))
    }

    /// What the kernel counts of the window's mappings.
    fn count(&self, window: &Window) -> io::Result<Cached> {
        let smaps = self
            .root
            .read(&KPath::from("/proc/self/smaps"))
            .map_err(|error| io::Error::other(error.to_string()))?;
        let is_ours = |record: &Record<'_>| window.starts().any(|start| start == record.start);
        let (mut huge, mut shared) = (0u64, 0u64);
        for record in records(&smaps).filter(is_ours) {
            huge = huge.saturating_add(record.file_huge.saturating_add(record.shmem_huge));
            shared = shared.saturating_add(record.shared_pages);
        }
        Ok(Cached {
            huge: Bytes::new(huge),
            shared: Bytes::new(shared),
        })
    }
}

impl Effects for Live<'_> {
    fn look(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<Cached> {
        let (_, cached) = self.touch(piece, limit)?;
        Ok(cached)
    }

    fn fill(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<Cached> {
        let (window, cached) = self.touch(piece, limit)?;
        if cached.huge.get() >= window.len() {
            return Ok(cached);
        }
        window.collapse();
        self.count(&window)
    }

    fn let_go(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<()> {
        let Piece { file, parts, .. } = piece;
        let start = self.now();
        for part in parts {
            let mut at = part.start;
            while at < part.end {
                let end = part.end.min(at.saturating_add(STEP));
                write_back(file, at..end)?;
                at = end;
                if self.now() - start > limit {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            let (offset, len) = (offset(part.start)?, offset(part.end - part.start)?);
            posix_fadvise(file, offset, len, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        }
        Ok(())
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

impl Adopts for Live<'_> {
    fn process(&mut self, pid: Pid) -> io::Result<OwnedFd> {
        pidfd::open(pid.get())
    }

    fn collapse(&mut self, process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
        collapse::collapse(process, range)
    }

    fn cpu(&self) -> Duration {
        own_time()
    }

    fn wall(&self) -> Duration {
        self.start.elapsed()
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

fn offset(bytes: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(bytes).map_err(|_error| io::ErrorKind::FileTooLarge.into())
}
