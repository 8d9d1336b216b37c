//! `mallopt`, `malloc_trim` and `mallinfo`: what glibc's malloc lets a program
//! set, ask and do.

use core::ffi::c_int;

use hugetools_pages::extent::usage;

use crate::arena;
use crate::mimalloc::{self, state};
use crate::stats::figures::Figures;

/// `malloc_trim(3)`: gives back what is free; 1 where something was given. The
/// room to keep is ignored: what is kept is what shares a page with blocks in
/// use.
pub(crate) fn trim() -> c_int {
    if !arena::ready() {
        return 0;
    }
    let before = usage::in_use();
    mimalloc::mi_collect(true);
    c_int::from(usage::in_use() < before)
}

/// `mallopt(3)`: 1 where a setting is taken. Those that adjust how glibc's own
/// malloc divides its memory have nothing to adjust here and are taken if
/// glibc takes them, and it takes what it does not know; only what would change
/// what a program sees, and is not done here, is refused.
pub(crate) fn set(parameter: c_int, value: c_int) -> c_int {
    /// The largest size of a fast block that glibc takes.
    const LARGEST_FAST: c_int = 160;
    let taken = match parameter {
        glibc::M_TRIM_THRESHOLD => set_trim_threshold(value),
        glibc::M_MXFAST => (0..=LARGEST_FAST).contains(&value),
        glibc::M_PERTURB => false,
        _ => true,
    };
    c_int::from(taken)
}

/// A threshold of 0 asks for everything to be given back at once; what waits for that goes
/// before, since mimalloc looks for no such thing any more then.
fn set_trim_threshold(value: c_int) -> bool {
    if value == 0 && arena::ready() {
        mimalloc::hugetools_give_back();
        state::give_back_at_once();
    }
    true
}

/// `struct mallinfo2`, and with another type of number `struct mallinfo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Mallinfo<T> {
    /// Bytes of the arenas.
    pub arena: T,
    /// Free blocks.
    pub ordblks: T,
    /// Always 0.
    pub smblks: T,
    /// Large blocks with mappings of their own.
    pub hblks: T,
    /// The bytes of those.
    pub hblkhd: T,
    /// Always 0.
    pub usmblks: T,
    /// Always 0.
    pub fsmblks: T,
    /// Bytes of blocks in use in the arenas.
    pub uordblks: T,
    /// Bytes of the arenas that no block has.
    pub fordblks: T,
    /// Always 0: what can be given back shows only when it is.
    pub keepcost: T,
}

/// `mallinfo2(3)`
pub(crate) fn mallinfo2() -> Mallinfo<usize> {
    let figures = Figures::take();
    Mallinfo {
        arena: figures.arenas,
        ordblks: figures.free_blocks,
        smblks: 0,
        hblks: figures.large,
        hblkhd: figures.large_bytes,
        usmblks: 0,
        fsmblks: 0,
        uordblks: figures.used,
        fordblks: figures.free(),
        keepcost: 0,
    }
}

/// `mallinfo(3)`: figures that do not fit are as large as fits.
pub(crate) fn mallinfo() -> Mallinfo<c_int> {
    let info = mallinfo2();
    let int = |value| c_int::try_from(value).unwrap_or(c_int::MAX);
    Mallinfo {
        arena: int(info.arena),
        ordblks: int(info.ordblks),
        smblks: 0,
        hblks: int(info.hblks),
        hblkhd: int(info.hblkhd),
        usmblks: 0,
        fsmblks: 0,
        uordblks: int(info.uordblks),
        fordblks: int(info.fordblks),
        keepcost: 0,
    }
}

/// Parameters of glibc's `<malloc.h>`: the libraries run under each libc, whichever they
/// were built for.
mod glibc {
    use core::ffi::c_int;

    pub(super) const M_MXFAST: c_int = 1;
    pub(super) const M_TRIM_THRESHOLD: c_int = -1;
    pub(super) const M_PERTURB: c_int = -6;
}
