//! Why memory isn't on the requested huge pages.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::kernel::hugetlb_pool;
use crate::policy::quota;
use crate::sys;

/// Why memory isn't on the requested huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortfall {
    /// No failure so far.
    None,
    /// The pool has no free page.
    PoolEmpty,
    /// The pool has pages, but a hugetlb cgroup, a cpuset, a memory policy or `RLIMIT_DATA` limits
    /// this process.
    Limited,
    /// Memory moved off hugetlb pages before a fork.
    Fork,
    /// The address space is too small for extents.
    AddressSpace,
    /// This process has used up its quota.
    Own,
    /// Valgrind runs the program.
    Valgrind,
    /// Forks had to move memory so often that the heap avoids pools.
    Forks,
    /// The pool gave no page, and its counters are unreadable.
    PoolUnread,
    /// This user isn't allowed System V segments on pool pages.
    ShmGroup,
    /// The process has threads and can't move private memory beside them.
    Threads,
    /// The program has set a seccomp filter, under which private memory can't move.
    Filter,
}

impl Shortfall {
    /// All variants, in order.
    const ALL: [Shortfall; 12] = [
        Shortfall::None,
        Shortfall::PoolEmpty,
        Shortfall::Limited,
        Shortfall::Fork,
        Shortfall::AddressSpace,
        Shortfall::Own,
        Shortfall::Valgrind,
        Shortfall::Forks,
        Shortfall::PoolUnread,
        Shortfall::ShmGroup,
        Shortfall::Threads,
        Shortfall::Filter,
    ];

    /// The reason in words.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Shortfall::None => None,
            Shortfall::PoolEmpty => Some("the pool has no free page"),
            Shortfall::Limited => Some(
                "a hugetlb cgroup, cpuset, memory policy or ulimit -d allows no more of the pool's \
                 pages",
            ),
            Shortfall::Fork => Some("moved off hugetlb pages before a fork"),
            Shortfall::AddressSpace => Some("the address space is limited (ulimit -v)"),
            Shortfall::Own => Some("the limit of this process (HUGETLB_LIMIT) is reached"),
            Shortfall::Valgrind => Some(VALGRIND),
            Shortfall::Forks => Some(FORKS_SEEN),
            Shortfall::PoolUnread => Some("the pool gave no page, and its counters are unreadable"),
            Shortfall::Threads => {
                Some("off pools beside threads: no full userfaultfd (Linux 5.19)")
            }
            Shortfall::Filter => Some("off pools, since the program has set a seccomp filter"),
            Shortfall::ShmGroup => Some("this user is not in the group of vm.hugetlb_shm_group"),
        }
    }
}

/// Reason under valgrind.
pub(super) const VALGRIND: &str = "off pools under valgrind";

/// Reason after several forks that moved memory.
pub(super) const FORKS_SEEN: &str = "off pools: two forks had to move its pages";

/// The last [`Shortfall`], shared by threads.
#[derive(Debug)]
pub struct ShortfallCell(AtomicU8);

impl ShortfallCell {
    /// Nothing failed yet.
    pub(crate) const fn new() -> ShortfallCell {
        ShortfallCell(AtomicU8::new(Shortfall::None as u8))
    }

    /// Records a failure.
    pub fn note(&self, shortfall: Shortfall) {
        self.0.store(shortfall as u8, Ordering::Relaxed);
    }

    /// Records a failure if it is the first.
    pub(super) fn note_first(&self, shortfall: Shortfall) {
        let (none, new) = (Shortfall::None as u8, shortfall as u8);
        let _ = (self.0).compare_exchange(none, new, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The recorded failure.
    pub fn get(&self) -> Shortfall {
        let number = usize::from(self.0.load(Ordering::Relaxed));
        Shortfall::ALL
            .get(number)
            .copied()
            .unwrap_or(Shortfall::None)
    }
}

/// Why the pool of this page size doesn't provide `pages` pages.
pub fn shortfall_of(size: usize, pages: usize) -> Shortfall {
    match hugetlb_pool::could_give(size, pages) {
        Some(true) => Shortfall::Limited,
        Some(false) => Shortfall::PoolEmpty,
        None => Shortfall::PoolUnread,
    }
}

/// Like [`shortfall_of`], for private memory, which valgrind and the quota keep off the pool, too.
pub fn private_shortfall_of(size: usize, pages: usize) -> Shortfall {
    match quota::is_spent(size) {
        _ if sys::is_under_valgrind() => Shortfall::Valgrind,
        true => Shortfall::Own,
        false => shortfall_of(size, pages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noted_shortfall_is_returned() {
        let noted = ShortfallCell::new();
        for shortfall in Shortfall::ALL {
            noted.note(shortfall);
            assert_eq!(noted.get(), shortfall);
            assert_eq!(shortfall.reason().is_none(), shortfall == Shortfall::None);
        }
    }
}
