//! Stops writers while memory is replaced. Each piece is protected, copied, replaced and released
//! without other work between, so that nobody waits long.

use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Errno, Result, WriteProtection};

/// Protection against writers.
#[derive(Debug)]
pub enum Shield {
    /// None: the process has one thread. Callers check first that no device writes.
    Alone,
    /// `userfaultfd(2)`: writers wait in the kernel, even in a system call or another process.
    Whole(WriteProtection),
}

impl Shield {
    /// Opens a `userfaultfd(2)`; `None` if the kernel refuses it or is older than Linux 5.19, or
    /// under a seccomp filter, which might kill the process for it.
    pub fn whole() -> Option<Shield> {
        let open = || WriteProtection::open().ok().map(Shield::Whole);
        (!facts::has_filter()).then(open).flatten()
    }

    /// The protection that this process needs.
    ///
    /// # Errors
    /// `EBUSY` if it has other threads and [`Shield::whole`] returns `None`.
    pub fn best() -> Result<Shield> {
        match facts::has_threads() {
            false => Ok(Shield::Alone),
            true => Shield::whole().ok_or(Errno(libc::EBUSY)),
        }
    }

    /// Preferred bytes to replace at once.
    pub fn piece(&self) -> usize {
        match self {
            Shield::Alone => 16 << 20,
            Shield::Whole(_) => 4 << 20,
        }
    }

    /// Runs `replace` while nobody else can write to the range. If it fails, the range is writable
    /// again.
    ///
    /// # Errors
    /// Those of `replace` and of the protection; `EBUSY` if the range contains this thread's stack
    /// or thread-local storage, which it writes meanwhile.
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
        let own = [sys::thread_key(), (&raw const here) as usize];
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

/// Protects a range; retries while another `userfaultfd(2)` is registered for part of it.
fn protect(protection: &WriteProtection, range: &Range<usize>) -> Result<()> {
    /// Timeout in ms.
    const TIMEOUT: u64 = 5000;
    let end = sys::now() + TIMEOUT;
    loop {
        match protection.protect(range) {
            Err(Errno(libc::EBUSY)) if sys::now() < end => sys::yield_now(),
            other => return other,
        }
    }
}
