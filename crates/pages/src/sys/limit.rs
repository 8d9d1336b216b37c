//! What the process may have (`getrlimit(2)`).
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

use super::call::{Errno, Result, ask, look};
use super::futex::futex_wait_for;

/// The most address space that the process may have (`ulimit -v`), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceLimit {
    /// There is no limit.
    None,
    /// So many bytes.
    Bytes(usize),
    /// It cannot be told.
    Unknown,
}

/// `RLIMIT_AS`.
pub fn address_space_limit() -> SpaceLimit {
    let Ok(limit) = limit_of(libc::RLIMIT_AS as usize) else {
        return SpaceLimit::Unknown;
    };
    match usize::try_from(limit.rlim_cur) {
        Ok(bytes) if limit.rlim_cur != libc::RLIM64_INFINITY => SpaceLimit::Bytes(bytes),
        _ => SpaceLimit::None,
    }
}

/// How far the main thread's stack may grow (`RLIMIT_STACK`), in bytes; `usize::MAX`
/// without a limit.
///
/// # Errors
/// Where it cannot be told.
pub fn stack_limit() -> Result<usize> {
    let limit = limit_of(libc::RLIMIT_STACK as usize)?.rlim_cur;
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn limit_of(resource: usize) -> Result<libc::rlimit64> {
    let mut limit = MaybeUninit::<libc::rlimit64>::zeroed();
    let args = [0, resource, 0, limit.as_mut_ptr() as usize, 0, 0];
    look(libc::SYS_prlimit64, args)?;
    // SAFETY: all bits zero are a valid limit, and the kernel has filled it.
    Ok(unsafe { limit.assume_init() })
}

/// How many forks are under way for which files may be opened past the process'
/// own limit.
static PAST_LIMIT: AtomicU32 = AtomicU32::new(0);

/// 1 while a thread has the limit raised.
static RAISED: AtomicU32 = AtomicU32::new(0);

/// As long as it lives, files are opened for us also where the process has as many
/// descriptors as it may have, below what it could give itself: its own limit
/// (`RLIMIT_NOFILE`) is raised around the call.
#[derive(Debug)]
pub struct PastLimit(());

impl PastLimit {
    /// Begins that.
    pub fn begin() -> PastLimit {
        PAST_LIMIT.fetch_add(1, Ordering::AcqRel);
        PastLimit(())
    }

    /// In the child of a fork: those that were about to did not come along.
    pub fn forget_others() {
        PAST_LIMIT.store(0, Ordering::Relaxed);
        RAISED.store(0, Ordering::Relaxed);
    }
}

impl Drop for PastLimit {
    fn drop(&mut self) {
        PAST_LIMIT.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs `open`, which wants a descriptor; see [`PastLimit`].
///
/// # Errors
/// Those of `open`.
pub(super) fn with_descriptor<T>(open: impl Fn() -> Result<T>) -> Result<T> {
    match open() {
        Err(Errno(libc::EMFILE)) if PAST_LIMIT.load(Ordering::Relaxed) > 0 => past_own_limit(open),
        other => other,
    }
}

#[cold]
fn past_own_limit<T>(open: impl Fn() -> Result<T>) -> Result<T> {
    /// So often: it takes a thread a few calls, unless a handler of a signal has
    /// come between, which would wait for itself.
    const TIMES: u32 = 100;
    const AGAIN: u32 = 10;
    let take = || {
        let taken = RAISED.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            futex_wait_for(&RAISED, 1, 1);
        }
        taken.is_ok()
    };
    if !(0..TIMES).any(|_| take()) {
        return Err(Errno(libc::EMFILE));
    }
    let mut result = Err(Errno(libc::EMFILE));
    for _ in 0..AGAIN {
        result = with_limit_raised(&open);
        // The program may set its limit between the two calls.
        if !matches!(result, Err(Errno(libc::EMFILE))) {
            break;
        }
    }
    RAISED.store(0, Ordering::Release);
    result
}

fn with_limit_raised<T>(open: &impl Fn() -> Result<T>) -> Result<T> {
    let most = limit_of(NOFILE)?.rlim_max;
    let raised = libc::rlimit64 {
        // A number that nobody else takes.
        rlim_cur: most.saturating_sub(1),
        rlim_max: most,
    };
    let own = exchange(&raised)?;
    let result = open();
    let is_ours = |now: &libc::rlimit64| (now.rlim_cur, now.rlim_max) == (raised.rlim_cur, most);
    // Another thread that has set it meanwhile must not find the old one for a moment.
    if limit_of(NOFILE).is_ok_and(|now| !is_ours(&now)) {
        return result;
    }
    let found = exchange(&own)?;
    if !is_ours(&found) {
        // It has set it just now.
        exchange(&found)?;
    }
    result
}

const NOFILE: usize = libc::RLIMIT_NOFILE as usize;

/// Sets the limit of descriptors; what it was.
fn exchange(limit: &libc::rlimit64) -> Result<libc::rlimit64> {
    let mut old = *limit;
    let new = core::ptr::from_ref(limit) as usize;
    let args = [0, NOFILE, new, core::ptr::from_mut(&mut old) as usize, 0, 0];
    ask(libc::SYS_prlimit64, args)?;
    Ok(old)
}
