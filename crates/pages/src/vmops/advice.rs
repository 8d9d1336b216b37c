//! What an advice for `madvise(2)` comes to on huge pages.

use core::ffi::c_int;

use crate::sys::{Errno, Result};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A wish, whose fulfilment changes nothing that a program can see.
    Hint,
    /// Ends what another advice began: nothing, on a huge page, which never
    /// took that other advice, but for the one that hides it.
    Undoes,
    /// The contents are dropped; those of shared memory only from this process.
    Drops,
    /// The same of private memory; an error of shared memory.
    OnlyPrivate,
    /// The contents may be written to swap.
    Reclaims,
    /// Not to be in a core dump, where shared huge pages are not as a rule: it is noted of
    /// them, since what takes their place would be.
    Hides,
    /// The contents of shared memory are dropped for everybody.
    Frees,
    /// Another treatment of exactly these pages.
    Marks,
    /// What the kernel does to any page; and what nobody knows.
    Kernel,
}

const MADV_COLD: c_int = 20;
const MADV_PAGEOUT: c_int = 21;
const MADV_DONTNEED_LOCKED: c_int = 24;
const MADV_COLLAPSE: c_int = 25;
const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

impl Kind {
    /// That of an advice.
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
            | MADV_COLLAPSE => Kind::Hint,
            libc::MADV_DOFORK | libc::MADV_KEEPONFORK | libc::MADV_DODUMP | MADV_GUARD_REMOVE => {
                Kind::Undoes
            }
            libc::MADV_DONTNEED | MADV_DONTNEED_LOCKED => Kind::Drops,
            libc::MADV_FREE | libc::MADV_WIPEONFORK => Kind::OnlyPrivate,
            MADV_COLD | MADV_PAGEOUT => Kind::Reclaims,
            libc::MADV_DONTDUMP => Kind::Hides,
            libc::MADV_REMOVE => Kind::Frees,
            libc::MADV_DONTFORK | MADV_GUARD_INSTALL => Kind::Marks,
            _ => Kind::Kernel,
        }
    }

    /// Whether the kernel gives it to no memory that is locked.
    pub fn is_refused_where_locked(self, advice: c_int) -> bool {
        matches!(self, Kind::Drops | Kind::Reclaims | Kind::Frees) && advice != MADV_DONTNEED_LOCKED
    }

    /// Whether private memory on huge pages has to become ordinary memory for
    /// it.
    pub fn needs_ordinary_memory(self) -> bool {
        !matches!(self, Kind::Hint | Kind::Undoes | Kind::Kernel)
    }
}

/// What advice for several parts of a range meets of what is not mapped: the kernel goes on
/// behind it, and says so at the end.
#[derive(Debug)]
pub struct Holes(Result<()>);

impl Holes {
    /// None so far.
    pub fn none() -> Holes {
        Holes(Ok(()))
    }

    /// Notes what a part has come to; an error is one that ends the call.
    ///
    /// # Errors
    /// All but `ENOMEM`.
    pub fn pass(&mut self, result: Result<()>) -> Result<()> {
        match result {
            Err(Errno(libc::ENOMEM)) => {
                self.0 = result;
                Ok(())
            }
            result => result,
        }
    }

    /// What the call comes to.
    ///
    /// # Errors
    /// That of `result`, else `ENOMEM` where there was a hole.
    pub fn end(self, result: Result<()>) -> Result<()> {
        result.and(self.0)
    }
}
