//! Keeping others from writing to memory while other memory with the same
//! contents takes its place.
//!
//! Whoever writes meanwhile waits, and nobody waits for long: a piece is
//! protected, copied, replaced and open again before anything else happens, and
//! no code but ours runs between.

use core::ops::Range;

use crate::extent::stacks;
use crate::fault::late;
use crate::kernel::facts;
use crate::migrate::write_freeze;
use crate::sys::{self, Errno, PastLimit, Result, WriteProtection};

/// A way to keep others from writing.
#[derive(Debug)]
pub enum Shield {
    /// None is needed: the process has one thread, and no device writes.
    Alone,
    /// By `userfaultfd(2)`: who writes waits in the kernel, also one that is in a
    /// system call, has blocked all signals, or is another process.
    Whole(WriteProtection),
    /// The same for what threads write themselves. A system call that writes
    /// fails with `EFAULT`, and [`crate::migrate::retry`] makes it again.
    Threads(WriteProtection),
    /// By access rights: a thread that writes waits in a handler of `SIGSEGV`.
    /// Only where there is nothing better, and not where stacks are known to be: one that
    /// has blocked the signal, or whose stack it is, is lost.
    Rights,
}

impl Shield {
    /// The one by `userfaultfd(2)` that holds for system calls; `None` where the
    /// process may not have it. A call that the program does not make may be
    /// deadly under a filter.
    pub fn whole() -> Option<Shield> {
        let open = || WriteProtection::open().ok().map(Shield::Whole);
        (!facts::has_filter()).then(open).flatten()
    }

    /// The one for what threads write themselves.
    pub fn threads() -> Option<Shield> {
        let open = || WriteProtection::of_threads_only().ok().map(Shield::Threads);
        (!facts::has_filter()).then(open).flatten()
    }

    /// The best that there is for a process that may have other threads.
    pub fn best() -> Shield {
        if !facts::has_threads() {
            return Shield::Alone;
        }
        // That a program has no descriptor left must not make it the worse one.
        let _past_limit = PastLimit::begin();
        let better = Shield::whole().or_else(Shield::threads);
        better.unwrap_or(Shield::Rights)
    }

    /// How much may be replaced at once, in bytes: others wait until it is done.
    pub fn piece(&self) -> usize {
        match self {
            Shield::Alone => 16 << 20,
            Shield::Whole(_) => 4 << 20,
            // Every piece is a chance for a system call to fail.
            Shield::Threads(_) | Shield::Rights => 0,
        }
    }

    /// Whether others may write.
    pub fn is_needed(&self) -> bool {
        !matches!(self, Shield::Alone)
    }

    /// Runs `replace`, which puts other memory with the same contents in the
    /// place of the range, while nobody else can write to it. Where it fails the
    /// range is writable as before.
    ///
    /// # Errors
    /// Those of `replace`, or that nobody can be kept from writing.
    ///
    /// # Safety
    /// The range must be memory of ours, mapped readable and writable.
    #[expect(unsafe_code, reason = "passes its duty on")]
    pub unsafe fn hold<T>(
        &self,
        range: &Range<usize>,
        replace: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match self {
            Shield::Alone => replace(),
            // It would wait for itself: the kernel writes there for this thread.
            Shield::Whole(_) | Shield::Threads(_) if range.contains(&sys::thread_name()) => {
                Err(Errno(libc::EBUSY))
            }
            Shield::Whole(protection) | Shield::Threads(protection) => {
                let result = protect(protection, range).and_then(|()| replace());
                late::note();
                match result {
                    Ok(_) => protection.replaced(range),
                    Err(_) => protection.release(range),
                }
                result
            }
            // The kernel could not write there for a thread that a signal comes to.
            Shield::Rights if stacks::are_known_in(range) => Err(Errno(libc::EBUSY)),
            // SAFETY: as the caller says.
            Shield::Rights => unsafe { write_freeze::frozen(range.start, range.len(), replace) },
        }
    }

    /// Keeps others from writing to all of these ranges; whether it could. If
    /// not, nothing is kept from them.
    pub fn close(&self, mut all: impl Iterator<Item = Range<usize>>) -> bool {
        match self {
            Shield::Alone => true,
            Shield::Whole(protection) => all.all(|range| protect(protection, &range).is_ok()),
            Shield::Threads(_) | Shield::Rights => false,
        }
    }

    /// Ends that.
    pub fn open(&self, all: impl Iterator<Item = Range<usize>>) {
        if let Shield::Whole(protection) = self {
            all.for_each(|range| protection.release(&range));
        }
    }
}

/// Protects a range, once no other thread protects any of it.
fn protect(protection: &WriteProtection, range: &Range<usize>) -> Result<()> {
    /// So long, in milliseconds: gigabytes may be copied meanwhile.
    const PATIENCE: u64 = 5000;
    let end = sys::now() + PATIENCE;
    loop {
        match protection.protect(range) {
            Err(Errno(libc::EBUSY)) if sys::now() < end => sys::yield_now(),
            other => return other,
        }
    }
}
