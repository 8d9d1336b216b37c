//! Keeping others from writing to memory while other memory with the same
//! contents takes its place.
//!
//! Whoever writes meanwhile waits, and nobody waits for long: a piece is
//! protected, copied, replaced and open again before anything else happens, and
//! no code but ours runs between.

use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Errno, Result, WriteProtection};

/// A way to keep others from writing.
#[derive(Debug)]
pub enum Shield {
    /// None is needed: the process has one thread, and no device writes.
    Alone,
    /// By `userfaultfd(2)`: who writes waits in the kernel, also one that is in a
    /// system call, has blocked all signals, or is another process.
    Whole(WriteProtection),
}

impl Shield {
    /// The one by `userfaultfd(2)` that holds for system calls; `None` where the
    /// process may not have it. A call that the program does not make may be
    /// deadly under a filter.
    pub fn whole() -> Option<Shield> {
        // That a program has no descriptor left must not make a difference.
        let open = || WriteProtection::open().ok().map(Shield::Whole);
        (!facts::has_filter()).then(open).flatten()
    }

    /// The one for this process.
    ///
    /// # Errors
    /// `EBUSY`: it has other threads, and nothing keeps them from writing.
    pub fn best() -> Result<Shield> {
        match facts::has_threads() {
            false => Ok(Shield::Alone),
            true => Shield::whole().ok_or(Errno(libc::EBUSY)),
        }
    }

    /// How much may be replaced at once, in bytes: others wait until it is done.
    pub fn piece(&self) -> usize {
        match self {
            Shield::Alone => 16 << 20,
            Shield::Whole(_) => 4 << 20,
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
    /// Those of `replace`, or that nobody can be kept from writing. `EBUSY` where this
    /// thread's own stack or record lies there: it writes there meanwhile.
    ///
    /// # Safety
    /// The range must be memory of ours, mapped readable and writable.
    #[expect(unsafe_code, reason = "passes its duty on")]
    pub unsafe fn hold<T>(
        &self,
        range: &Range<usize>,
        replace: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let here = 0_u8;
        let own = [sys::thread_name(), (&raw const here) as usize];
        if own.iter().any(|addr| range.contains(addr)) {
            return Err(Errno(libc::EBUSY));
        }
        match self {
            Shield::Alone => replace(),
            Shield::Whole(protection) => {
                let result = protect(protection, range).and_then(|()| replace());
                match result {
                    Ok(_) => protection.replaced(range),
                    Err(_) => protection.release(range),
                }
                result
            }
        }
    }
}

/// Protects a range, once no other thread protects any of it.
fn protect(protection: &WriteProtection, range: &Range<usize>) -> Result<()> {
    /// How long (ms) another thread's copy is waited for.
    const PATIENCE: u64 = 5000;
    let end = sys::now() + PATIENCE;
    loop {
        match protection.protect(range) {
            Err(Errno(libc::EBUSY)) if sys::now() < end => sys::yield_now(),
            other => return other,
        }
    }
}
