//! Stops writers while memory is replaced. Each piece is protected, copied, replaced and released
//! in turn, so that writers wait only for one piece.

use core::ops::Range;

use crate::kernel::facts;
use crate::sys::{self, Errno, Result, WriteProtection};

/// How other writers are stopped.
#[derive(Debug)]
pub enum Shield {
    /// Nothing to stop: the process has one thread. Callers rule out DMA first.
    OneThread,
    /// `userfaultfd(2)` blocks writers in the kernel, even in a system call or from another process.
    Userfaultfd(WriteProtection),
}

impl Shield {
    /// Opens a `userfaultfd(2)`; `None` before Linux 5.19 or without permission. A seccomp filter
    /// might kill the process for the attempt, so under a filter it's `None`, too.
    pub fn userfaultfd() -> Option<Shield> {
        let open = || WriteProtection::open().ok().map(Shield::Userfaultfd);
        (!facts::has_filter()).then(open).flatten()
    }

    /// Returns the shield that this process needs.
    ///
    /// # Errors
    /// `EBUSY` if it has several threads and [`Shield::userfaultfd`] is `None`.
    pub fn for_process() -> Result<Shield> {
        match facts::has_threads() {
            false => Ok(Shield::OneThread),
            true => Shield::userfaultfd().ok_or(Errno(libc::EBUSY)),
        }
    }

    /// Preferred bytes to replace at once. Smaller with userfaultfd: writers wait meanwhile.
    pub fn piece_len(&self) -> usize {
        match self {
            Shield::OneThread => 16 << 20,
            Shield::Userfaultfd(_) => 4 << 20,
        }
    }

    /// Runs `replace` while other writers to the range are stopped. If it fails, the old memory is
    /// writable again.
    ///
    /// # Errors
    /// Those of `replace` and `userfaultfd(2)`; `EBUSY` if the range contains this thread's stack
    /// or TLS: the thread would block itself.
    ///
    /// # Safety
    /// The range must be ours, readable and writable.
    #[expect(unsafe_code, reason = "passes its duty on")]
    pub unsafe fn stop_writers<T>(
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
            Shield::OneThread => replace(),
            Shield::Userfaultfd(protection) => {
                let result = protect(protection, range).and_then(|()| replace());
                match result {
                    Ok(_) => protection.wake_writers(range),
                    Err(_) => protection.release(range),
                }
                result
            }
        }
    }
}

/// Write-protects a range; retries while another userfaultfd is registered on part of it.
fn protect(protection: &WriteProtection, range: &Range<usize>) -> Result<()> {
    const TIMEOUT_MS: u64 = 5000;
    let end = sys::now() + TIMEOUT_MS;
    loop {
        match protection.protect(range) {
            Err(Errno(libc::EBUSY)) if sys::now() < end => sys::yield_now(),
            other => return other,
        }
    }
}
