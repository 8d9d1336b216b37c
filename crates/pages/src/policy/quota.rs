//! The quota of this process (`HUGETLB_LIMIT`). It counts private pool pages: heap, data, bss
//! and copies of code; not shared memory, shared code, or the program's own requests.
//!
//! Without a limit nothing is counted. A child inherits the counts.
#![expect(unsafe_code, reason = "populates pages by address")]

use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_contract::env::Limit;

use crate::config;
use crate::kernel::{hugetlb_pool, populate};
use crate::sys::{Errno, Result};

/// One entry per power of two: page sizes are powers of two.
const SIZES: usize = usize::BITS as usize;

/// Bytes taken, by page size, if the limit is a part of each pool.
static TAKEN: [AtomicUsize; SIZES] = [const { AtomicUsize::new(0) }; SIZES];
/// Bytes taken in total, if the limit is a number of bytes.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// The last known quota in bytes, by page size, if the limit is a part of each pool.
static PARTS: [AtomicUsize; SIZES] = [const { AtomicUsize::new(0) }; SIZES];

/// Takes up to `wanted` bytes of the quota for pages of this size; returns the bytes taken. Bytes
/// that the pool doesn't provide must be given back.
pub fn take(size: usize, wanted: usize) -> usize {
    let Some(limit) = config::get().limit else {
        return wanted;
    };
    let taken = count(limit, size);
    let first = take_of(taken, last_limit(limit, size), size, wanted);
    if first == wanted {
        return first;
    }
    // The pool may have grown.
    first + take_of(taken, read_limit(limit, size), size, wanted - first)
}

/// Populates one hugetlb page within the quota.
///
/// # Safety
/// It must be mapped, zero, and not handed out.
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
        give_to(count(limit, size), bytes);
    }
}

/// Whether the quota leaves no page of this size.
pub fn is_spent(size: usize) -> bool {
    config::get().limit.is_some_and(|limit| {
        let rest =
            last_limit(limit, size).saturating_sub(count(limit, size).load(Ordering::Relaxed));
        rest < size
    })
}

fn place(size: usize) -> usize {
    size.trailing_zeros() as usize % SIZES
}

fn count(limit: Limit, size: usize) -> &'static AtomicUsize {
    match limit {
        Limit::Bytes(_) => &ALL,
        Limit::Part(_) => &TAKEN[place(size)],
    }
}

/// The last known quota.
fn last_limit(limit: Limit, size: usize) -> usize {
    match limit {
        Limit::Bytes(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
        Limit::Part(_) => PARTS[place(size)].load(Ordering::Relaxed),
    }
}

fn read_limit(limit: Limit, size: usize) -> usize {
    if let Limit::Part(parts) = limit {
        // An unreadable pool counts as empty.
        let pages = hugetlb_pool::maximum(size).and_then(|most| most.checked_div(parts));
        let pages = usize::try_from(pages.unwrap_or(0)).unwrap_or(usize::MAX);
        let part = pages.saturating_mul(size);
        PARTS[place(size)].store(part, Ordering::Relaxed);
    }
    last_limit(limit, size)
}

/// Takes whole pages within the quota; returns their bytes.
fn take_of(taken: &AtomicUsize, allowed: usize, size: usize, wanted: usize) -> usize {
    let grant = |taken: usize| allowed.saturating_sub(taken).min(wanted) / size * size;
    let add = |taken: usize| taken.checked_add(grant(taken));
    let before = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    before.map_or(0, grant)
}

fn give_to(taken: &AtomicUsize, bytes: usize) {
    let less = |taken: usize| Some(taken.saturating_sub(bytes));
    let _ = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn whole_pages_up_to_what_is_allowed() {
        let taken = AtomicUsize::new(0);
        let take = |allowed, wanted| take_of(&taken, allowed * MIB, 2 * MIB, wanted * MIB) / MIB;
        assert_eq!(take(11, 6), 6);
        assert_eq!(take(11, 6), 4);
        assert_eq!(take(11, 2), 0);
        give_to(&taken, 4 * MIB);
        assert_eq!(take(11, 2), 2);
        // The pool has shrunk.
        assert_eq!(take(2, 2), 0);
        give_to(&taken, 100 * MIB);
        assert_eq!(taken.load(Ordering::Relaxed), 0);
    }
}
