//! Puts a file's text on huge pages of the page cache before the program starts, if the file system
//! supports them. All processes share them; they need no pool and outlive the program.
//!
//! If the text is not huge yet, its base pages are dropped and read again as huge pages. A result
//! that falls short is recorded, so that starts in the next ten minutes don't try again. The wait
//! for another start and each read take a second at most.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hugetools_model::root::error::describe;
use hugetools_model::smaps::records;
use hugetools_model::{Bytes, KPath, Root};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, PosixFadviseAdvice, posix_fadvise};

use super::private_dir;
use crate::caller::Caller;
use crate::files::places::{Place, places};
use crate::probe::bundle::first;
use crate::probe::coverage::page_cache::attempt_log;
use crate::probe::coverage::page_cache::{
    CachedText, Opened, State, TextFile, Why, failed, open, short, total_len,
};
use crate::sys::page_cache::Window;

/// Timeout for the lock of another start, and for each read of the file.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Interval between attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn prepare(text: &TextFile, caller: &Caller, root: &Root) -> CachedText {
    let state = match open(text) {
        Err(error) => failed(&error),
        Ok(opened) => Attempt { opened, text, root }.run(caller),
    };
    CachedText::new(text.clone(), state)
}

/// Bytes of a file's text in the page cache.
#[derive(Debug, Clone, Copy, Default)]
struct Cached {
    huge: u64,
    /// Mapped by other processes, too.
    shared: u64,
    /// Whether a collapse failed because pages were in use or no huge page was free.
    was_busy: bool,
}

struct Attempt<'a> {
    opened: Opened,
    text: &'a TextFile,
    root: &'a Root,
}

impl Attempt<'_> {
    fn run(&self, caller: &Caller) -> State {
        if let Some(why) = attempt_log::recall(caller, &self.opened.record) {
            return short(None, why);
        }
        match self.touch(false) {
            Err(error) => failed(&error),
            Ok(cached) if self.is_whole(cached) => State::Ready,
            Ok(cached) => match self.read_again(caller) {
                Ok(None) => State::Filled,
                Ok(Some((cached, why))) => short(Some(Bytes::new(cached.huge)), why),
                Err(why) => short(Some(Bytes::new(cached.huge)), why),
            },
        }
    }

    /// Drops the base pages and reads the text again, one start at a time. Returns the result
    /// if it falls short.
    fn read_again(&self, caller: &Caller) -> Result<Option<(Cached, Why)>, Why> {
        let mut record = lock(caller, &self.opened.record)?;
        let failed = |error: io::Error| Why::Failed(describe(&error));
        // Another start may have finished meanwhile.
        let before = self.touch(false).map_err(failed)?;
        let after = match self.is_whole(before) {
            true => before,
            false => {
                self.drop_pages().map_err(failed)?;
                self.touch(true).map_err(failed)?
            }
        };
        if self.is_whole(after) {
            return Ok(None);
        }
        let is_in_use = after.was_busy || before.shared.max(after.shared) > 0;
        let why = match after.huge == 0 && !is_in_use {
            true => Why::FileSystem,
            false => Why::Temporary,
        };
        // Without a record, the next start tries again.
        let _ = record.write_all(attempt_log::text(&why).as_bytes());
        Ok(Some((after, why)))
    }

    /// Faults the text in; with `collapse`, collapses text that was read as base pages.
    fn touch(&self, collapse: bool) -> io::Result<Cached> {
        let Opened { file, .. } = &self.opened;
        let window = |part| Window::new(file, part, self.text.size.get());
        let windows = self.text.parts.iter().map(window);
        let windows = windows.collect::<io::Result<Vec<_>>>()?;
        let deadline = Instant::now() + TIMEOUT;
        windows
            .iter()
            .try_for_each(|window| window.touch(deadline))?;
        let cached = self.count(&windows)?;
        if !collapse || self.is_whole(cached) {
            return Ok(cached);
        }
        let busy = windows.iter().filter(|window| window.collapse()).count();
        let cached = self.count(&windows)?;
        Ok(Cached {
            was_busy: busy > 0,
            ..cached
        })
    }

    fn count(&self, windows: &[Window]) -> io::Result<Cached> {
        let smaps = self.root.read(&KPath::from("/proc/self/smaps"));
        let smaps = smaps.map_err(|error| io::Error::other(error.to_string()))?;
        let mut cached = Cached::default();
        for record in records(&smaps) {
            if windows.iter().any(|window| window.start() == record.start) {
                cached.huge += record.file_huge + record.shmem_huge;
                cached.shared += record.shared_pages;
            }
        }
        Ok(cached)
    }

    fn is_whole(&self, cached: Cached) -> bool {
        cached.huge >= total_len(&self.text.parts).get()
    }

    /// Writes dirty pages of the file back, then drops unmapped pages.
    fn drop_pages(&self) -> io::Result<()> {
        let Opened { file, .. } = &self.opened;
        let offset =
            |bytes: u64| libc::off_t::try_from(bytes).map_err(|_error| io::ErrorKind::FileTooLarge);
        file.sync_data()?;
        for part in &self.text.parts {
            let (start, len) = (offset(part.start)?, offset(part.end - part.start)?);
            posix_fadvise(file, start, len, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        }
        Ok(())
    }
}

/// Creates and locks the record of this name, to exclude other starts.
fn lock(caller: &Caller, name: &str) -> Result<Flock<File>, Why> {
    let open = |place: &Place| private_dir::open(place, attempt_log::DIR, caller.euid);
    let unwritten =
        |why: String| Why::Failed(format!("the record of attempts cannot be written ({why})"));
    let dir = first(&places(caller), open).map_err(unwritten)?;
    remove_expired(&dir);
    let locked = lock_file(&dir.join(name));
    let locked =
        locked.map_err(|why| unwritten(format!("{}: {}", dir.display(), describe(&why))))?;
    let timeout = || Why::Failed("timeout waiting for another hugectl's lock".to_owned());
    locked.ok_or_else(timeout)
}

/// Locks a file. Returns `None` if another process holds the lock for [`TIMEOUT`]; the kernel
/// releases it when that process ends.
fn lock_file(path: &Path) -> io::Result<Option<Flock<File>>> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o644)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(Some(lock)),
            Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) => file = back,
            Err((_, errno)) => return Err(errno.into()),
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(LOCK_INTERVAL);
    }
}

/// Removes the expired records of all files.
fn remove_expired(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry
            .metadata()
            .is_ok_and(|file| !attempt_log::is_fresh(&file))
        {
            // Another start may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}
