//! What happens around a fork: before it, nobody may be changing our memory,
//! and private hugetlb memory moves down or is copied for the child; after it,
//! child and parent go on.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::luck::Shortfall;
use crate::say::{Amount, Level, say};
use crate::{
    behind, cgroup, facts, fault, for_child, freeze, grant, luck, move_down, others, register,
    rejoin, runs, segv, still, weak,
};

/// After so many forks that had to move or copy something, a process gets no
/// more hugetlb pages.
const MOVES: u32 = 2;

/// Memory that stays for others.
const MARGIN: usize = 64 << 20;

/// Whether the gate was closed for the fork that is under way.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// How many bytes were copied for the child of the fork that is under way.
static COPIED: AtomicUsize = AtomicUsize::new(0);

/// How many forks there were, or are about to be.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many forks this process has prepared, or was made by.
pub fn count() -> u32 {
    COUNT.load(Ordering::Acquire)
}

/// Prepares for forks; the second time does nothing. To be called before huge
/// pages are handed out, and outside of any allocation.
pub fn watch() {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if WATCHING.swap(true, Ordering::AcqRel) {
        return;
    }
    if !weak::atfork(prepare, parent, child) {
        say(
            Level::Warning,
            format_args!("this libc has no pthread_atfork: forked children share hugetlb pages"),
        );
    }
}

extern "C" fn prepare() {
    COUNT.fetch_add(1, Ordering::AcqRel);
    if register::GATE.close() {
        CLOSED.store(true, Ordering::Relaxed);
        register::look(|| {
            grant::lend();
            let total = runs::writable().map(runs::hugetlb_bytes).sum();
            if total > 0 && has_room(total) {
                separate(total);
            }
        });
    }
}

/// Whether there is memory for a copy.
fn has_room(total: usize) -> bool {
    let room = facts::available_memory().min(cgroup::memory_left());
    let enough = room >= total.saturating_add(MARGIN);
    if !enough {
        say(
            Level::Warning,
            format_args!(
                "fork: {} of memory stay on hugetlb pages, since only {} are free to \
                 copy them to; a child that writes to them needs as much memory again",
                Amount(total),
                Amount(room)
            ),
        );
    }
    enough
}

/// How parent and child come to share no hugetlb page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The parent's memory moves to ordinary pages, which they may share.
    Move,
    /// The parent's memory stays, and the child gets a copy.
    Copy,
}

impl Way {
    /// Moving is done once, and copying at each fork. But others may be at work
    /// in the memory: threads, which can be made to wait, and devices.
    fn choose() -> Way {
        let devices = behind::may_be_written();
        if !facts::has_threads() && !devices {
            return Way::Move;
        }
        if still::begin() || devices || !others::can_wait() {
            return Way::Copy;
        }
        Way::Move
    }
}

/// Sees to it that parent and child share no hugetlb page.
fn separate(total: usize) {
    static SEPARATED: AtomicU32 = AtomicU32::new(0);
    if SEPARATED.fetch_add(1, Ordering::Relaxed) + 1 >= MOVES {
        luck::NO_HUGETLB.store(true, Ordering::Relaxed);
    }
    match Way::choose() {
        Way::Move => {
            luck::MOVED.store(true, Ordering::Relaxed);
            move_down::move_down(total);
        }
        Way::Copy => COPIED.store(for_child::begin(), Ordering::Relaxed),
    }
}

extern "C" fn parent() {
    still::in_parent();
    for_child::in_parent();
    // Not before: who reads what is said may be waiting.
    let copied = COPIED.swap(0, Ordering::Relaxed);
    if copied > 0 {
        say(
            Level::Info,
            format_args!(
                "fork: copied {} of hugetlb pages for the child",
                Amount(copied)
            ),
        );
    }
    if CLOSED.swap(false, Ordering::Relaxed) {
        register::GATE.open();
    }
    rejoin::forked();
}

extern "C" fn child() {
    segv::HANDLER.inherit();
    fault::HANDLER.inherit();
    still::in_child();
    COPIED.store(0, Ordering::Relaxed);
    if for_child::in_child() {
        luck::LUCK.note(Shortfall::Fork);
    }
    if CLOSED.swap(false, Ordering::Relaxed) {
        register::GATE.open();
    } else {
        register::GATE.forget_others();
    }
    register::forget_readers();
    freeze::forget();
    rejoin::forget();
    grant::leave_behind();
}
