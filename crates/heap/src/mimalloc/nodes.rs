//! The memory nodes of the machine, as mimalloc tells them apart.
//!
//! A page lies on the node of the thread that has it first, or where the memory
//! policy wants it, and holds blocks of whoever comes next. So that this is a
//! thread of the same node, each node has extents of its own.

#![expect(unsafe_code, reason = "tells mimalloc its nodes")]

use core::ffi::c_int;

use hugetools_pages::policy::numa_copy;

use crate::mimalloc;

/// An extent for the threads of all nodes.
pub(crate) const ANY: c_int = -1;

/// Of more nodes than these, all share their extents: mimalloc has room for
/// some 160.
const MOST: usize = 16;

/// How many nodes have extents of their own; 1 where all share them.
pub(crate) fn count() -> usize {
    if !numa_copy::is_divided() {
        return 1;
    }
    let count = usize::try_from(mimalloc::_mi_os_numa_node_count()).unwrap_or(1);
    if count <= MOST { count.max(1) } else { 1 }
}

/// What [`count`] counts.
pub(crate) fn all() -> impl Iterator<Item = c_int> {
    let count = count();
    let ids = 0..c_int::try_from(count).unwrap_or(1);
    ids.map(move |id| if count == 1 { ANY } else { id })
}

/// Has each thread take memory from the extents of its node, the main thread
/// too: mimalloc takes that for one of node 0, and the main heap for one of node
/// 0 whoever asks. To be called by the main thread; its node.
pub(crate) fn begin() -> c_int {
    let node = mimalloc::_mi_os_numa_node();
    // SAFETY: null is the main heap.
    unsafe { mimalloc::mi_heap_set_numa_affinity(core::ptr::null_mut(), ANY) };
    let heap = mimalloc::mi_theap_get_default();
    // SAFETY: mimalloc's own, of this thread.
    let thread = unsafe { (*heap).thread };
    // SAFETY: likewise.
    unsafe { (*thread).node = node };
    node
}
