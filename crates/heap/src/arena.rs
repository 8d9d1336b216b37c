//! mimalloc's memory: extents that it manages and whose pages come from us.
//!
//! **Invariants.** There is an extent before the first block, and another one before those
//! that there are run out. mimalloc takes into use what it needs, and where the pages for
//! that cannot be had it gets an error, not memory that a touch would end the program for.
//!
//! **Locks.** A flag: one thread at a time hands an extent over; the others go on.
//!
//! **At a fork.** Extents are what a fork is about: see `hugetools_pages::fork`.
#![expect(unsafe_code, reason = "hands address space to mimalloc")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::Layout;
use hugetools_pages::extent::slice_bitmap::SLICE;
use hugetools_pages::extent::{Extent, address_space, index, room, usage};
use hugetools_pages::heap::commit::{self, Wish};
use hugetools_pages::policy::pool_backoff::{BACKOFF, Shortfall};
use hugetools_pages::policy::{first_look, growth};
use hugetools_pages::rt::message::{Amount, Level, say_once};
use hugetools_pages::sys::{self, SpaceLimit};

use crate::host_malloc::{self, Heap, relief};
use crate::mimalloc::layout::{HANDING_OVER, layout, watch_growth};
use crate::mimalloc::state::{self, State};
use crate::mimalloc::{self, nodes};
use crate::purge::{before_growth, idle};

/// Bytes of address space that mimalloc manages, and how many are in use.
static MANAGED: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

/// The most that was in use.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The first extent of a process, and the largest of those that follow, each of
/// which is as large as what there was before: a program may limit its address
/// space at any time, and what is reserved counts.
const FIRST: usize = 64 << 20;
const LARGEST: usize = 8 << 30;

/// The smallest extent that mimalloc takes.
const SMALLEST: usize = 32 << 20;

/// Extents of a node are added while so many parts of all address space are in use.
const MOST_FREE: usize = 8;

/// How often a thread looks whether another one has handed its extent over.
const PATIENCE: usize = 1000;

/// A page of mimalloc's for several blocks has at most so many bytes: see `slices.c`.
const OF_MANY_BLOCKS: usize = 48 * SLICE;

/// Where the address space is limited another extent can wait until such a part of what
/// there are is free.
const PART_FREE: usize = 4;

/// Room for mimalloc's tables before the first larger page of an extent.
const TABLES: usize = 32 << 20;

/// Makes sure that mimalloc has an extent; whether it serves this process at
/// all, for some programs must keep theirs. Called before each
/// allocation; costs a comparison.
#[inline(always)]
pub(crate) fn ready() -> bool {
    match state::now() {
        State::Ready => true,
        State::Attentive => {
            idle::count();
            true
        }
        State::Unready => start(),
    }
}

/// Whether a block is to fail rather than lie on other pages than those that were
/// asked for.
pub(crate) fn is_strict() -> bool {
    config::heap_is_strict()
}

#[cold]
fn start() -> bool {
    match host_malloc::heap() {
        // Else called by the loader, before there is an environment.
        Heap::Ours if config::is_known() => make_ready(),
        Heap::Ours | Heap::Unknown => {}
        Heap::Theirs => return false,
    }
    true
}

fn make_ready() {
    if !state::begin() {
        // Another thread is at it, or this one further up the stack: mimalloc
        // can do without for a moment.
        return;
    }
    first_look::take();
    mimalloc::_mi_auto_process_init();
    mimalloc::mi_option_set(mimalloc::ARENA_RESERVE, 0);
    mimalloc::mi_option_set(mimalloc::DESTROY_ON_EXIT, 2);
    if is_strict() {
        mimalloc::mi_option_set(mimalloc::ARENAS_ONLY, 1);
    }
    let config = config::get();
    if config.heap_shrink {
        state::give_back_at_once();
    }
    if let Some(base) = config.heap_base {
        address_space::begin_at(base);
    }
    if layout().big > 0 {
        // A heap that is not worth a larger page finds room here.
        let plain = Layout { big: 0, ..layout() };
        add(FIRST, plain, nodes::ANY);
    }
    match nodes::count() {
        1 => add(FIRST, layout(), nodes::ANY),
        // The others come when the heap is not small any more.
        _ => add(FIRST, layout(), nodes::begin()),
    };
    if growth::is_limited() && !relief::find() {
        growth::end();
    }
    state::finish();
}

/// Hands an extent of about `len` bytes to mimalloc, for threads of a node; a
/// smaller one where the address space is limited. `false` where another thread is
/// at it.
fn add(len: usize, layout: Layout, node: c_int) -> bool {
    if HANDING_OVER.swap(true, Ordering::Acquire) {
        return false;
    }
    let lead = if layout.big > 0 { TABLES } else { 0 };
    let most = room::ahead();
    // Where blocks lie in extents or nowhere there is one, however narrow it is.
    let least = if is_strict() { FIRST } else { 0 };
    let mut len = len.min((most / SMALLEST * SMALLEST).max(least));
    loop {
        let len_of_pages = len.max(layout.big.saturating_mul(4)).min(LARGEST);
        if len < SMALLEST || least == 0 && len_of_pages > most {
            too_narrow();
            break;
        }
        if let Ok(extent) = index::create(lead, len_of_pages, SLICE, layout) {
            if hand_over(extent, node) {
                MANAGED.fetch_add(extent.len, Ordering::Relaxed);
            } else {
                index::destroy(extent);
            }
            break;
        }
        len /= 2;
    }
    HANDING_OVER.store(false, Ordering::Release);
    true
}

/// Notes that there is no room for an extent: mimalloc then maps its pages one
/// by one, and only large ones get huge pages. That the address space is
/// limited, hugectl has said.
fn too_narrow() {
    static SAID: AtomicBool = AtomicBool::new(false);
    BACKOFF.note(Shortfall::AddressSpace);
    if managed() == 0 {
        // There is no page that could be of use again, but only mappings that take room.
        mimalloc::mi_option_set(mimalloc::PURGE_DELAY, 0);
    }
    match sys::address_space_limit() {
        SpaceLimit::Bytes(limit) => say_once(
            &SAID,
            Level::Info,
            format_args!(
                "heap: the address space is limited to {} (ulimit -v): small blocks may get no \
                 huge pages",
                Amount(limit)
            ),
        ),
        SpaceLimit::None | SpaceLimit::Unknown => {}
    }
}

fn hand_over(extent: &'static Extent, node: c_int) -> bool {
    // SAFETY: reserved address space that nobody else uses, which stays; the
    // function takes into use what mimalloc asks for.
    unsafe {
        mimalloc::mi_manage_memory(
            extent.base as *mut c_void,
            extent.len,
            false,
            false,
            true,
            node,
            false,
            commit,
            core::ptr::from_ref(extent).cast_mut().cast(),
            core::ptr::null_mut(),
        )
    }
}

/// mimalloc's way to take a part of an extent into use, or to return it.
unsafe extern "C" fn commit(
    take: bool,
    start: *mut c_void,
    size: usize,
    is_zero: *mut bool,
    extent: *mut c_void,
) -> bool {
    // SAFETY: what `hand_over` gave.
    let extent = unsafe { &*extent.cast::<Extent>() };
    // A range may be in use in part, and nobody else takes or returns any of it.
    let had = extent.used_in(start as usize, size);
    if !take {
        let start = start as usize;
        if growth::is_strained() {
            commit::decommit_parts(extent, start, size, SLICE);
        } else if before_growth::is_dividing() {
            commit::decommit_parts(extent, start, size, commit::LARGE);
        } else {
            commit::decommit(extent, start, size);
        }
        let gone = had.saturating_sub(extent.used_in(start, size));
        USED.fetch_sub(gone, Ordering::Relaxed);
        idle::gave();
        return true;
    }
    let handing_over = HANDING_OVER.load(Ordering::Acquire) && extent.used_slices() == 0;
    let wish = match handing_over {
        true => Wish::Plain,
        false if size > OF_MANY_BLOCKS || growth::may_have(size) => Wish::Best,
        false => Wish::OfPool,
    };
    if !handing_over && state::is_ready() {
        before_growth::growing_by(size);
    }
    let result = commit::commit(extent, start as usize, size, wish);
    // Of what could not be had in full a part stays.
    let fresh = extent.used_in(start as usize, size).saturating_sub(had);
    let used = USED.fetch_add(fresh, Ordering::Relaxed) + fresh;
    PEAK.fetch_max(used, Ordering::Relaxed);
    let Ok(zero) = result else {
        return false;
    };
    if handing_over && state::is_ready() && nodes::count() > 1 {
        commit::keep_apart(extent, start as usize, size);
    }
    if !is_zero.is_null() {
        // SAFETY: mimalloc's own variable.
        unsafe { is_zero.write(zero) };
    }
    grow(used);
    watch_growth();
    true
}

/// Adds extents before those that there are run out: one, or one for each node.
fn grow(used: usize) {
    let managed = MANAGED.load(Ordering::Relaxed);
    let count = nodes::count();
    let is_due = match managed <= FIRST && count > 1 {
        // While it is small it is on base pages, each where it is used.
        true => !usage::is_small(0),
        false => used > managed / 2,
    };
    if !is_due || !state::is_ready() || is_early_under_limit(used, managed) {
        return;
    }
    let len = (managed / count).clamp(FIRST, LARGEST);
    nodes::all().for_each(|node| {
        add(len, layout(), node);
    });
}

/// Whether an extent can wait where the address space is limited, since there is more room
/// in those that there are than the smallest has.
fn is_early_under_limit(used: usize, managed: usize) -> bool {
    let has_room = managed.saturating_sub(used) > SMALLEST.max(managed / PART_FREE);
    has_room && matches!(sys::address_space_limit(), SpaceLimit::Bytes(_))
}

/// Before a thread takes what is free in the extents of other nodes: whether there
/// is more room in those of its own. What is free elsewhere has been there before, and
/// its pages are still on their node. Not without end: while there is no more memory,
/// each try would take more address space.
#[unsafe(no_mangle)]
extern "C" fn hugetools_makes_room(node: c_int) -> bool {
    let count = nodes::count();
    let managed = MANAGED.load(Ordering::Relaxed);
    let used = USED.load(Ordering::Relaxed);
    if count == 1 || managed <= FIRST || !state::is_ready() || is_strict() {
        return false;
    }
    if managed > 2 * count * FIRST && managed / MOST_FREE > used {
        return false;
    }
    let len = (managed / count).clamp(FIRST, LARGEST);
    for _ in 0..PATIENCE {
        if add(len, layout(), node) {
            return true;
        }
        sys::yield_now();
    }
    false
}

/// Bytes of address space that mimalloc manages.
pub(crate) fn managed() -> usize {
    MANAGED.load(Ordering::Relaxed)
}

/// The most bytes that mimalloc has had in use.
pub(crate) fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}
