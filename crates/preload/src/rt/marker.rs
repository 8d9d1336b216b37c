//! One process, one of our libraries at work. A program that is linked with
//! `-lhugetlbfs` and started by hugectl may load two copies, where the loader
//! does not match them by name (musl; older files of another SONAME). The
//! exported marker of the first one is what both see; the second one does
//! nothing by itself.
#![expect(unsafe_code, reason = "defines and compares symbols")]

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(include_str!("marker.s"), options(raw));

unsafe extern "C" {
    static hugetools_marker_seen: AtomicUsize;
    static hugetools_marker_here: AtomicUsize;
    static hugetools_heap_seen: AtomicUsize;
}

/// Whether this copy is the first one in the process.
pub(crate) fn is_first() -> bool {
    // SAFETY: a word of this library, written by the loader.
    let seen = unsafe { hugetools_marker_seen.load(Ordering::Relaxed) };
    seen == &raw const hugetools_marker_here as usize
}

/// Whether malloc is part of this library.
pub(crate) fn has_heap() -> bool {
    // SAFETY: a word of this library, written by the loader.
    unsafe { hugetools_heap_seen.load(Ordering::Relaxed) != 0 }
}
