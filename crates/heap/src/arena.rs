//! mimalloc's arenas, which lie in our extents. Their commit callback is the page source.
//!
//! **Invariants.** The first call adds an arena; another one is added before all are full. The
//! callback populates pool pages, so that a missing one raises no signal at a later access.
//!
//! **Locks.** One thread at a time adds an arena. The callback doesn't wait for it.
//!
//! **At a fork.** See `hugetools_pages::fork`.
#![expect(unsafe_code, reason = "hands address space to mimalloc")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetlbfs::unmap_notice;
use hugetools_contract::env::Pages;
use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::Layout;
use hugetools_pages::extent::{Extent, address_space, index, room, usage};
use hugetools_pages::heap::commit;
use hugetools_pages::policy::pool_backoff::{BACKOFF, Shortfall};
use hugetools_pages::policy::start_facts;
use hugetools_pages::rt::lock::{Held, Lock};
use hugetools_pages::rt::message::{Amount, Level, say_once};
use hugetools_pages::sys;

use crate::host_malloc::{self, Heap};
use crate::{idle, mimalloc, owner, state};

/// Bytes of the first arena, and mimalloc's minimum and maximum. A further arena is at least as
/// large as all before it, up to the maximum.
const FIRST: usize = 1 << 30;
const SMALLEST: usize = 32 << 20;
const LARGEST: usize = 15 << 30;

/// Maximum length in bytes of a block in an arena, which begins with mimalloc's tables.
const LARGEST_BLOCK: usize = LARGEST - (64 << 20);

/// Bytes for mimalloc's tables before the first page of the larger size (`Layout::big`).
const TABLES: usize = 32 << 20;

/// Bytes of address space in all arenas.
static MANAGED: AtomicUsize = AtomicUsize::new(0);

/// Bytes in use at which another arena is added.
static GROW_AT: AtomicUsize = AtomicUsize::new(0);

/// Held while a thread adds an arena.
static ADDING: Lock = Lock::new();

/// Number of refused commits.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Starts the heap at the first call. Returns false if the program keeps another malloc.
#[cold]
pub(crate) fn start() -> bool {
    match host_malloc::heap() {
        // The loader may call malloc before the environment is known: the heap starts later.
        Heap::Ours if config::is_known() => make_ready(),
        Heap::Ours | Heap::Unknown => {}
        Heap::Theirs => return false,
    }
    true
}

fn make_ready() {
    if !state::begin() {
        // Another thread or an outer frame is starting the heap: until it is ready, mimalloc takes
        // memory from the kernel.
        return;
    }
    start_facts::take();
    let config = config::get();
    mimalloc::hugetools_set_options(config::heap_is_strict(), config.heap_shrink);
    mimalloc::set_errno_at_errors();
    mimalloc::mi_process_init();
    if let Some(base) = config.heap_base {
        address_space::begin_at(base);
    }
    add(FIRST, &ADDING.lock());
    state::finish();
}

/// Adds an arena of about `len` bytes, or a smaller one if address space is limited.
fn add(len: usize, _held: &Held<'_>) {
    let layout = Layout::of(config::get().heap.unwrap_or(Pages::Thp));
    let lead = if layout.big > 0 { TABLES } else { 0 };
    let mut len = len.max(4 * layout.big).min(LARGEST);
    if let limit @ ..LARGEST = room::reservation_limit() {
        len = len.min(limit / SMALLEST * SMALLEST);
    }
    let added = loop {
        if len < SMALLEST {
            break false;
        }
        if add_exactly(lead, len, layout) {
            break true;
        }
        len /= 2;
    };
    let (managed, in_use) = (MANAGED.load(Ordering::Relaxed), usage::in_use());
    if !added && managed < in_use + SMALLEST {
        BACKOFF.note(Shortfall::AddressSpace);
    }
    GROW_AT.store((managed / 2).max(in_use + SMALLEST / 2), Ordering::Relaxed);
}

fn add_exactly(lead: usize, len: usize, layout: Layout) -> bool {
    let Ok(extent) = index::create(lead, len, layout) else {
        return false;
    };
    let argument = core::ptr::from_ref(extent).cast_mut().cast();
    // SAFETY: address space reserved for this arena only, which stays; `commit_callback` puts
    // memory there.
    let taken = unsafe {
        mimalloc::mi_manage_memory(
            extent.base as *mut c_void,
            extent.len,
            false,
            false,
            true,
            -1,
            false,
            commit_callback,
            argument,
            core::ptr::null_mut(),
        )
    };
    match taken {
        true => drop(MANAGED.fetch_add(extent.len, Ordering::Relaxed)),
        false => index::destroy(extent),
    }
    taken
}

unsafe extern "C" fn commit_callback(
    commit: bool,
    start: *mut c_void,
    size: usize,
    is_zero: *mut bool,
    extent: *mut c_void,
) -> bool {
    // SAFETY: the argument passed to mimalloc.
    let extent = unsafe { &*extent.cast::<Extent>() };
    if !commit {
        unmap_notice::announce(start as usize, size);
        commit::decommit(extent, start as usize, size);
        // Threads may hold more freed memory, which a later purge returns.
        idle::note(sys::coarse_now());
        // mimalloc must commit the range before it uses it again.
        return true;
    }
    let Ok(zero) = commit::commit(extent, start as usize, size) else {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return false;
    };
    if !is_zero.is_null() {
        // SAFETY: mimalloc's own variable.
        unsafe { is_zero.write(zero) };
    }
    if usage::in_use() > GROW_AT.load(Ordering::Relaxed) && state::is_ready() {
        if let Some(held) = ADDING.try_lock() {
            add(MANAGED.load(Ordering::Relaxed), &held);
        }
    }
    true
}

/// Calls `get` again, for a block that mimalloc found no room for in the arenas, and adds one if
/// necessary. Returns the block if it is in an arena. `has_block` says whether mimalloc found room
/// elsewhere.
#[cold]
pub(crate) fn try_again(
    size: usize,
    has_block: bool,
    get: impl Fn() -> *mut c_void,
) -> Option<*mut c_void> {
    if !state::is_ready() {
        return None;
    }
    if size > LARGEST_BLOCK {
        if has_block {
            note_outside(size);
        }
        return None;
    }
    let held = ADDING.lock();
    let inside = || {
        let block = get();
        match owner::is_outside(block) {
            // SAFETY: mimalloc's, and nobody else knows it.
            true => unsafe { mimalloc::mi_free(block) },
            false => return Some(block),
        }
        None
    };
    let refused = REFUSED.load(Ordering::Relaxed);
    inside().or_else(|| {
        // Without pages, an arena is no help.
        if REFUSED.load(Ordering::Relaxed) != refused {
            return None;
        }
        let managed = MANAGED.load(Ordering::Relaxed);
        add(managed.max(size + size / 4 + SMALLEST), &held);
        inside()
    })
}

/// Says once that a block is in no arena.
#[cold]
pub(crate) fn note_outside(size: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let level = match config::heap_is_of_pool() || config::heap_is_strict() {
        true => Level::Warning,
        false => Level::Info,
    };
    let text = "is outside the heap, which serves blocks below 15 GiB, aligned to 64 KiB at most";
    say_once(
        &SAID,
        level,
        format_args!("a block of {} {text}", Amount(size)),
    );
}
