//! What the process may have (`getrlimit(2)`).
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::call::{Errno, Result, ask, look};
use super::futex::futex_wait_for;

/// The most that the process may have of something, in bytes.
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
    limit_in_bytes(libc::RLIMIT_AS as usize)
}

/// How much memory the process may have mapped that it alone can write to
/// (`RLIMIT_DATA`), since Linux 4.7.
pub fn data_limit() -> SpaceLimit {
    limit_in_bytes(libc::RLIMIT_DATA as usize)
}

/// Whether a file may be so long (`RLIMIT_FSIZE`): else the kernel sends `SIGXFSZ` to who
/// makes it so. No where that cannot be told.
pub(super) fn may_be_as_long(len: usize) -> bool {
    match limit_in_bytes(libc::RLIMIT_FSIZE as usize) {
        SpaceLimit::None => true,
        SpaceLimit::Bytes(most) => len <= most,
        SpaceLimit::Unknown => false,
    }
}

fn limit_in_bytes(resource: usize) -> SpaceLimit {
    let Ok(limit) = limit_of(resource) else {
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

/// How many are at work for which files may be opened, and memory taken that can be
/// written, past the process' own limits.
static PAST_LIMIT: AtomicU32 = AtomicU32::new(0);

/// 1 while a thread has a limit raised.
static RAISED: AtomicU32 = AtomicU32::new(0);

/// That limit as the program has it, for a child that is made meanwhile.
static OWN: Own = Own {
    resource: AtomicUsize::new(NONE),
    soft: AtomicU64::new(0),
    hard: AtomicU64::new(0),
};

/// In [`OWN`]: none is raised.
const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Own {
    resource: AtomicUsize,
    soft: AtomicU64,
    hard: AtomicU64,
}

impl Own {
    /// Notes what is to be put back, before it is raised.
    fn note(&self, resource: usize, limit: &libc::rlimit64) {
        self.soft.store(limit.rlim_cur, Ordering::Relaxed);
        self.hard.store(limit.rlim_max, Ordering::Relaxed);
        self.resource.store(resource, Ordering::Release);
    }

    fn forget(&self) {
        self.resource.store(NONE, Ordering::Release);
    }

    /// Puts it back where it is raised now.
    fn restore(&self) {
        let resource = self.resource.swap(NONE, Ordering::Acquire);
        let limit = libc::rlimit64 {
            rlim_cur: self.soft.load(Ordering::Relaxed),
            rlim_max: self.hard.load(Ordering::Relaxed),
        };
        if resource != NONE && limit_of(resource).is_ok_and(|now| is_raised(&now, &limit)) {
            let _ = exchange(resource, &limit);
        }
    }
}

/// A limit as it is raised: to a number that nobody else takes.
fn raised(own: &libc::rlimit64) -> libc::rlimit64 {
    libc::rlimit64 {
        rlim_cur: own.rlim_max.saturating_sub(1),
        rlim_max: own.rlim_max,
    }
}

fn is_raised(now: &libc::rlimit64, own: &libc::rlimit64) -> bool {
    let raised = raised(own);
    (now.rlim_cur, now.rlim_max) == (raised.rlim_cur, raised.rlim_max)
}

/// A limit, and what the kernel says where it is reached.
struct Limit {
    resource: usize,
    refusal: Errno,
}

const FILES: Limit = Limit {
    resource: libc::RLIMIT_NOFILE as usize,
    refusal: Errno(libc::EMFILE),
};

const DATA: Limit = Limit {
    resource: libc::RLIMIT_DATA as usize,
    refusal: Errno(libc::ENOMEM),
};

/// As long as it lives, files are opened for us also where the process has as many
/// descriptors as it may have, and copies made where it has as much memory that can be
/// written, below what it could give itself: its own limit (`RLIMIT_NOFILE`,
/// `RLIMIT_DATA`) is raised around the call.
#[derive(Debug)]
pub struct PastLimit(());

impl PastLimit {
    /// Begins that.
    pub fn begin() -> PastLimit {
        PAST_LIMIT.fetch_add(1, Ordering::AcqRel);
        PastLimit(())
    }

    /// In the child of a fork: those that were about to did not come along, and the limit
    /// that one of them had raised is the program's own again.
    pub fn forget_others() {
        OWN.restore();
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
    past_where_needed(&FILES, open)
}

/// Runs `call`, which wants memory that can be written; see [`PastLimit`].
///
/// # Errors
/// Those of `call`.
pub fn with_memory<T>(call: impl Fn() -> Result<T>) -> Result<T> {
    past_where_needed(&DATA, call)
}

fn past_where_needed<T>(limit: &Limit, call: impl Fn() -> Result<T>) -> Result<T> {
    match call() {
        Err(error) if error == limit.refusal && PAST_LIMIT.load(Ordering::Relaxed) > 0 => {
            past_own_limit(limit, call)
        }
        other => other,
    }
}

#[cold]
fn past_own_limit<T>(limit: &Limit, call: impl Fn() -> Result<T>) -> Result<T> {
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
        return Err(limit.refusal);
    }
    let mut result = Err(limit.refusal);
    for _ in 0..AGAIN {
        result = with_limit_raised(limit, &call);
        // The program may set its limit between the two calls.
        if !result.as_ref().is_err_and(|error| *error == limit.refusal) {
            break;
        }
    }
    RAISED.store(0, Ordering::Release);
    result
}

fn with_limit_raised<T>(limit: &Limit, call: &impl Fn() -> Result<T>) -> Result<T> {
    let before = limit_of(limit.resource)?;
    if before.rlim_cur == before.rlim_max {
        return Err(limit.refusal);
    }
    OWN.note(limit.resource, &before);
    let result = with_raised(limit, &before, call);
    OWN.forget();
    result
}

fn with_raised<T>(
    limit: &Limit,
    before: &libc::rlimit64,
    call: &impl Fn() -> Result<T>,
) -> Result<T> {
    let own = exchange(limit.resource, &raised(before))?;
    let result = call();
    // Another thread that has set it meanwhile must not find the old one for a moment.
    if limit_of(limit.resource).is_ok_and(|now| !is_raised(&now, before)) {
        return result;
    }
    let found = exchange(limit.resource, &own)?;
    if !is_raised(&found, before) {
        // It has set it just now.
        exchange(limit.resource, &found)?;
    }
    result
}

/// Sets a limit; what it was.
fn exchange(resource: usize, to: &libc::rlimit64) -> Result<libc::rlimit64> {
    let mut old = *to;
    let new = core::ptr::from_ref(to) as usize;
    let old_at = core::ptr::from_mut(&mut old) as usize;
    ask(libc::SYS_prlimit64, [0, resource, new, old_at, 0, 0])?;
    Ok(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all limits the one that no other test needs.
    const QUIET: usize = libc::RLIMIT_MSGQUEUE as usize;

    #[test]
    fn a_child_has_the_own_limit_again() {
        let own = limit_of(QUIET).unwrap();
        let before = libc::rlimit64 {
            rlim_cur: own.rlim_cur.min(1000),
            rlim_max: own.rlim_max,
        };
        OWN.note(QUIET, &before);
        exchange(QUIET, &raised(&before)).unwrap();
        PastLimit::forget_others();
        assert_eq!(limit_of(QUIET).unwrap().rlim_cur, before.rlim_cur);
        // What the program has set meanwhile stays.
        OWN.note(QUIET, &before);
        exchange(QUIET, &own).unwrap();
        PastLimit::forget_others();
        assert_eq!(limit_of(QUIET).unwrap().rlim_cur, own.rlim_cur);
        PastLimit::forget_others();
    }
}
