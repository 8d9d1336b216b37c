//! One active copy for each process. A program linked with `-lhugetlbfs` and started by hugectl
//! may load two copies if the loader doesn't match their names (musl, older SONAMEs). Both see the
//! first one's exported marker; the second one only forwards.
#![expect(unsafe_code, reason = "defines and compares symbols")]

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(include_str!("marker.s"), options(raw));

unsafe extern "C" {
    static hugetools_marker_seen: AtomicUsize;
    static hugetools_marker_here: AtomicUsize;
    static hugetools_heap_seen: AtomicUsize;
}

/// Whether this copy is the first one.
pub(crate) fn is_first() -> bool {
    // SAFETY: a word of this library that the loader wrote.
    let seen = unsafe { hugetools_marker_seen.load(Ordering::Relaxed) };
    seen == &raw const hugetools_marker_here as usize
}

/// Whether this library contains malloc.
pub(crate) fn has_heap() -> bool {
    // SAFETY: a word of this library that the loader wrote.
    unsafe { hugetools_heap_seen.load(Ordering::Relaxed) != 0 }
}
