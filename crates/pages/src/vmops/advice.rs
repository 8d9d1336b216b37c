//! Kinds of `madvise(2)` advice on hugetlb memory, where the kernel accepts whole huge pages only.

use core::ffi::c_int;

/// Kind of an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ignored on huge pages.
    Hint,
    /// Drops contents; those of shared memory only from this process's page tables.
    Discard,
    /// Fails on shared memory.
    OnlyPrivate,
    /// Applies to exactly this range, so the kernel rejects part of a huge page.
    ExactRange,
    /// Left to the kernel, as unknown advice is.
    Kernel,
}

const MADV_COLLAPSE: c_int = 25;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

impl Kind {
    /// The kind of an advice.
    pub fn of(advice: c_int) -> Kind {
        match advice {
            libc::MADV_NORMAL
            | libc::MADV_RANDOM
            | libc::MADV_SEQUENTIAL
            | libc::MADV_WILLNEED
            | libc::MADV_HUGEPAGE
            | libc::MADV_NOHUGEPAGE
            | libc::MADV_MERGEABLE
            | libc::MADV_UNMERGEABLE
            | libc::MADV_DODUMP
            // It undoes `MADV_WIPEONFORK`, which pool memory never has.
            | libc::MADV_KEEPONFORK
            | libc::MADV_COLD
            | libc::MADV_PAGEOUT
            | MADV_COLLAPSE => Kind::Hint,
            libc::MADV_DONTNEED | libc::MADV_DONTNEED_LOCKED => Kind::Discard,
            libc::MADV_FREE | libc::MADV_WIPEONFORK => Kind::OnlyPrivate,
            libc::MADV_REMOVE
            | libc::MADV_DONTFORK
            | libc::MADV_DOFORK
            | libc::MADV_DONTDUMP
            | MADV_GUARD_INSTALL
            | MADV_GUARD_REMOVE => Kind::ExactRange,
            _ => Kind::Kernel,
        }
    }
}
