//! One process, one of our libraries at work. A program that is linked with
//! `-lhugetlbfs` and started by hugectl may load two copies, where the loader
//! does not match them by name (musl; older files of another SONAME). The
//! exported marker of the first one is what both see; the second one does
//! nothing by itself.
#![expect(unsafe_code, reason = "defines and compares symbols")]

use core::sync::atomic::{AtomicUsize, Ordering};

core::arch::global_asm!(
    ".pushsection .data.rel.ro,\"aw\",@progbits",
    ".balign 8",
    ".globl __hugetools_library",
    ".type __hugetools_library, @object",
    ".size __hugetools_library, 8",
    "__hugetools_library:",
    ".8byte 1",
    // What the name means to everybody: the first copy's marker.
    ".globl hugetools_marker_seen",
    ".hidden hugetools_marker_seen",
    "hugetools_marker_seen:",
    ".8byte __hugetools_library",
    // Our own marker, whatever the name means.
    ".globl hugetools_marker_here",
    ".hidden hugetools_marker_here",
    ".set hugetools_marker_here, __hugetools_library",
    // Filled by libhugetlbfs_heap.so, null in libhugetlbfs.so.
    ".weak hugetools_heap",
    ".hidden hugetools_heap",
    ".globl hugetools_heap_seen",
    ".hidden hugetools_heap_seen",
    "hugetools_heap_seen:",
    ".8byte hugetools_heap",
    ".popsection",
);

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
