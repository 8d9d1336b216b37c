//! The quota of this process (`HUGETLB_LIMIT`). It counts private pool pages: heap, data, bss
//! and copies of code; not shared memory, shared code, or the program's own requests.
//!
//! Counts nothing without a limit. A forked child inherits the counts.
#![expect(unsafe_code, reason = "populates pages by address")]

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::env::Limit;

use crate::config;
use crate::kernel::{hugetlb_pool, populate};
use crate::sys::{Errno, Result};

/// Page sizes are powers of two: a table entry for each.
const SIZES: usize = usize::BITS as usize;

/// Bytes taken, by page size, if the limit is [`Limit::Part`].
static TAKEN_BY_SIZE: [AtomicUsize; SIZES] = [const { AtomicUsize::new(0) }; SIZES];
/// Bytes taken of all page sizes, if the limit is [`Limit::Bytes`].
static TAKEN_OF_ALL_SIZES: AtomicUsize = AtomicUsize::new(0);

/// The limit in bytes by page size, as last computed from the pool, for [`Limit::Part`].
static LIMIT_BY_SIZE: [AtomicUsize; SIZES] = [const { AtomicUsize::new(0) }; SIZES];

/// Takes up to `wanted` bytes of the quota for pages of this size; returns the bytes taken. The
/// caller must [`give`] back those that the pool doesn't provide.
pub fn take(size: usize, wanted: usize) -> usize {
    let Some(limit) = config::get().limit else {
        return wanted;
    };
    let counter = counter(limit, size);
    let first = take_from(counter, last_limit(limit, size), size, wanted);
    if first == wanted {
        return first;
    }
    // The pool may have grown.
    first + take_from(counter, read_limit(limit, size), size, wanted - first)
}

/// Populates one hugetlb page within the quota.
///
/// # Safety
/// The page must be mapped writable, all zero, and not handed out yet.
pub unsafe fn populate(addr: usize, size: usize) -> Result<()> {
    if take(size, size) == 0 {
        return Err(Errno(libc::ENOMEM));
    }
    // SAFETY: upheld by the caller.
    unsafe { populate::populate(addr, size, size) }.inspect_err(|_| give(size, size))
}

/// Gives bytes of pages of this size back to the quota.
pub fn give(size: usize, bytes: usize) {
    if let Some(limit) = config::get().limit {
        give_back(counter(limit, size), bytes);
    }
}

/// Whether the quota leaves no page of this size.
pub fn is_spent(size: usize) -> bool {
    config::get().limit.is_some_and(|limit| {
        let rest =
            last_limit(limit, size).saturating_sub(counter(limit, size).load(Ordering::Relaxed));
        rest < size
    })
}

fn size_index(size: usize) -> usize {
    size.trailing_zeros() as usize % SIZES
}

fn counter(limit: Limit, size: usize) -> &'static AtomicUsize {
    match limit {
        Limit::Bytes(_) => &TAKEN_OF_ALL_SIZES,
        Limit::Part(_) => &TAKEN_BY_SIZE[size_index(size)],
    }
}

fn last_limit(limit: Limit, size: usize) -> usize {
    match limit {
        Limit::Bytes(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
        Limit::Part(_) => LIMIT_BY_SIZE[size_index(size)].load(Ordering::Relaxed),
    }
}

fn read_limit(limit: Limit, size: usize) -> usize {
    if let Limit::Part(parts) = limit {
        // An unreadable pool counts as empty.
        let pages = hugetlb_pool::maximum(size).and_then(|maximum| maximum.checked_div(parts));
        let pages = usize::try_from(pages.unwrap_or(0)).unwrap_or(usize::MAX);
        let part = pages.saturating_mul(size);
        LIMIT_BY_SIZE[size_index(size)].store(part, Ordering::Relaxed);
    }
    last_limit(limit, size)
}

/// Takes whole pages within the limit; returns their bytes.
fn take_from(counter: &AtomicUsize, limit: usize, size: usize, wanted: usize) -> usize {
    let grant = |taken: usize| limit.saturating_sub(taken).min(wanted) / size * size;
    let add = |taken: usize| taken.checked_add(grant(taken));
    let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    before.map_or(0, grant)
}

fn give_back(counter: &AtomicUsize, bytes: usize) {
    let subtract = |taken: usize| Some(taken.saturating_sub(bytes));
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn takes_whole_pages_up_to_the_limit() {
        let counter = AtomicUsize::new(0);
        let take = |limit, wanted| take_from(&counter, limit * MIB, 2 * MIB, wanted * MIB) / MIB;
        assert_eq!(take(11, 6), 6);
        assert_eq!(take(11, 6), 4);
        assert_eq!(take(11, 2), 0);
        give_back(&counter, 4 * MIB);
        assert_eq!(take(11, 2), 2);
        // The pool has shrunk.
        assert_eq!(take(2, 2), 0);
        give_back(&counter, 100 * MIB);
        assert_eq!(counter.load(Ordering::Relaxed), 0);
    }
}
