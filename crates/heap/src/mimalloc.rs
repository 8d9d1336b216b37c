//! The parts of mimalloc's interface that are used here. Its crate is pinned
//! to one version, since some of them are mimalloc's own affair; the sources come
//! from it, and are compiled by this crate's build script. Its memory comes from
//! [`crate::arena`].
//!
//! * [`direct`]: its blocks with libc's manners.
//! * [`state`]: how far it is; [`layout`]: which pages it is to have; [`nodes`]: the memory
//!   nodes, as it tells them apart.
//!
//! **Invariants.** Types and numbers here are those of that one version. It is called
//! once it has its memory, but for what begins it.
//!
//! **Locks.** Its own, which [`crate::hooks`] are.
//!
//! **At a fork.** Whoever is in it is inside of the gate, so that the child finds its
//! tables whole.
#![expect(unsafe_code, reason = "declares foreign functions")]

use core::ffi::{c_int, c_long, c_void};

pub(crate) mod direct;
pub(crate) mod layout;
pub(crate) mod nodes;
pub(crate) mod state;

/// Called by mimalloc to take memory into use (`true`) or to return it.
pub(crate) type CommitFun =
    unsafe extern "C" fn(bool, *mut c_void, usize, *mut bool, *mut c_void) -> bool;

/// Called by mimalloc for each of its pages: heap, area, block, size, argument.
pub(crate) type VisitFun =
    unsafe extern "C" fn(*const c_void, *const HeapArea, *mut c_void, usize, *mut c_void) -> bool;

/// `mi_heap_area_t`: a page of mimalloc's, in bytes but for `used`.
#[repr(C)]
pub(crate) struct HeapArea {
    pub(crate) blocks: *mut c_void,
    pub(crate) reserved: usize,
    /// What has been divided into blocks.
    pub(crate) committed: usize,
    /// How many blocks are in use.
    pub(crate) used: usize,
    pub(crate) block_size: usize,
    /// With what mimalloc adds to each.
    pub(crate) full_block_size: usize,
    reserved1: *mut c_void,
}

/// The beginning of `mi_theap_t`: what a thread has of a heap.
#[repr(C)]
pub(crate) struct ThreadHeap {
    pub(crate) thread: *mut Thread,
}

/// The beginning of `mi_tld_t`: a thread.
#[repr(C)]
pub(crate) struct Thread {
    id: usize,
    number: usize,
    /// Whose extents it looks into first.
    pub(crate) node: c_int,
}

/// `mi_option_disallow_os_alloc`: whether blocks lie in arenas only.
pub(crate) const ARENAS_ONLY: c_int = 17;

/// `mi_option_purge_delay`: how long what is free is kept, in milliseconds.
pub(crate) const PURGE_DELAY: c_int = 15;

/// `mi_option_destroy_on_exit`: above 1, nothing happens at the exit.
pub(crate) const DESTROY_ON_EXIT: c_int = 22;

/// `mi_option_arena_reserve`: how much mimalloc reserves by itself, in KiB.
pub(crate) const ARENA_RESERVE: c_int = 23;

unsafe extern "C" {
    /// What mimalloc's constructor does, which is left out of the link.
    pub(crate) safe fn _mi_auto_process_init();

    /// Takes a page for blocks of a size; see `crate::hooks::side_stack`.
    pub(crate) fn _mi_arenas_page_alloc(
        heap: *mut c_void,
        block_size: usize,
        alignment: usize,
    ) -> *mut c_void;

    /// The same, in arenas only; see `slices.c`.
    pub(crate) fn hugetools_page_of_arenas(
        heap: *mut c_void,
        block_size: usize,
        alignment: usize,
    ) -> *mut c_void;

    /// A page for blocks of a size that a thread has left at its end, or null.
    pub(crate) fn hugetools_left_page(heap: *mut c_void, block_size: usize) -> *mut c_void;

    /// A page for a block of a size that was freed just now, or null; see `spares.c`.
    pub(crate) safe fn hugetools_spare_page(block_size: usize) -> *mut c_void;

    /// Returns a page.
    pub(crate) fn _mi_arenas_page_free(page: *mut c_void, heap: *mut c_void);

    /// Gives back what has been free for a while, or all of it (`force`) of all
    /// extents (`visit_all`).
    pub(crate) fn _mi_arenas_collect(force: bool, visit_all: bool, thread: *mut c_void);

    /// Ends what a thread has of it.
    pub(crate) fn _mi_thread_done(heap: *mut c_void);

    /// The destructor of its key; see `mimalloc.c`.
    pub(crate) fn hugetools_thread_end(
        heap: *mut c_void,
        again: extern "C" fn(libc::pthread_key_t, *const c_void) -> c_int,
    );

    /// Whether that was called for the last time in this thread.
    pub(crate) safe fn hugetools_is_over() -> bool;

    /// Prepares it for this thread.
    pub(crate) safe fn mi_thread_init();

    /// How many memory nodes mimalloc tells apart, which threads it asks for.
    pub(crate) safe fn _mi_os_numa_node_count() -> c_int;

    /// The one of them that this thread runs on.
    pub(crate) safe fn _mi_os_numa_node() -> c_int;

    /// What this thread has of the main heap.
    pub(crate) safe fn mi_theap_get_default() -> *mut ThreadHeap;

    /// Sets whose extents a heap takes (null: the main heap), whichever thread
    /// asks; -1 for those of the thread.
    pub(crate) fn mi_heap_set_numa_affinity(heap: *mut c_void, node: c_int);

    /// Sets an option.
    pub(crate) safe fn mi_option_set(option: c_int, value: c_long);

    /// Gives mimalloc memory to manage, which it takes into use and returns
    /// through `commit`.
    pub(crate) fn mi_manage_memory(
        start: *mut c_void,
        size: usize,
        is_committed: bool,
        is_pinned: bool,
        is_zero: bool,
        numa_node: c_int,
        exclusive: bool,
        commit: CommitFun,
        argument: *mut c_void,
        arena: *mut *mut c_void,
    ) -> bool;

    /// Returns what is free to its extents: of this thread's, and what all
    /// threads have returned; everything, where `force` is set.
    pub(crate) safe fn mi_collect(force: bool);

    /// Returns what all threads have returned to its extents; see `mimalloc.c`. Takes
    /// a deep stack.
    pub(crate) safe fn hugetools_give_back();

    /// What the pages of all threads take of its extents, in bytes.
    pub(crate) safe fn hugetools_bytes_of_pages() -> usize;

    /// Visits the pages of a heap, those of all threads.
    pub(crate) fn mi_heap_visit_blocks(
        heap: *mut c_void,
        visit_blocks: bool,
        visitor: VisitFun,
        argument: *mut c_void,
    ) -> bool;

    pub(crate) safe fn mi_malloc(size: usize) -> *mut c_void;
    pub(crate) safe fn mi_zalloc(size: usize) -> *mut c_void;
    pub(crate) fn mi_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub(crate) fn mi_free(block: *mut c_void);
    pub(crate) fn mi_usable_size(block: *const c_void) -> usize;
    /// Whether an address lies in a block or between blocks of mimalloc's. Any
    /// address may be asked for.
    pub(crate) safe fn mi_is_in_heap_region(address: *const c_void) -> bool;
    pub(crate) safe fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut c_void;
}
