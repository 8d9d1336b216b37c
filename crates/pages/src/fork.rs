//! What happens around a fork.
//!
//! A private hugetlb page that is written after a fork needs a second page of
//! the pool. Where there is none the writer dies of `SIGBUS`, and a system call
//! that writes there fails. So parent and child are to share no such page, and
//! the child must find all memory as it was at one moment: that of the fork.
//!
//! **Invariants.** A fork never fails for want of huge pages, but where this page says
//! so; what cannot be told is answered by the safe thing. Whatever was done for a fork
//! that the kernel then refused is undone.
//!
//! **Locks.** One guard holds the signals, the gate and the protection of memory, in
//! this order, and lets go of them in the reverse order.
//!
//! **At a fork.** The rest of this page.
//!
//! # From prepare to parent and child
//! libc calls the handlers that were registered for a fork: all `prepare`, the
//! last one first, then it forks, then all `parent` or `child`, the first one
//! first. Ours are the first ones ([`watch`], `register`), so that our
//! `prepare` runs last and our `parent` and `child` run before those of others.
//! In between, who may do what?
//!
//! * **This thread** runs our code, and libc's between our handlers. It may
//!   allocate, for it passes the gate that it has closed itself, and write to all
//!   memory: what is still protected when `prepare` returns lets it through
//!   (`wp_monitor`). While `prepare` protects something it runs on a stack of ours and
//!   touches no memory but ours and what it copies.
//! * **Its signal handlers** do not run: signals are blocked (`guard`) but for
//!   those that a fault raises. What a handler does comes before the snapshot, or
//!   after it in the parent only.
//! * **Other libraries' handlers** for forks do not run either: they come before
//!   our `prepare` and after our `parent` and `child`. Where somebody has
//!   registered before us all the same they are let through as this thread is.
//! * **Other threads** run on. One that wants to change what stands behind memory
//!   waits at the gate for a moment and then goes through, since the forking
//!   thread may wait for a lock of libc's that it holds; no pages of pools are
//!   taken meanwhile. Who writes to a piece that is just being replaced waits in
//!   the kernel until it is: nobody waits for anything but the copying of that
//!   piece, and the copying waits for nobody. Who writes to what was copied for the
//!   child waits until libc has forked, unless libc waits for that one.
//! * **The kernel** takes the snapshot itself, of ordinary memory, which is
//!   exact. What it writes for a system call waits as threads do, or, for users
//!   without rights, fails and is made again ([`crate::migrate::retry`]).
//! * **The child** has this thread only. Changes that others were at are ended
//!   for it (`Unit::adopt`), their locks are free
//!   ([`lock`]), and what it shares with the parent on pages of
//!   pools it leaves before anything else runs in it.
//!
//! # Ways
//! `way` chooses: `evacuate`, alone or past other threads under a
//! [`crate::migrate::shield`]; `child_copy`, a copy where devices are at work;
//! sharing, where the pools hold all of it twice or nothing better is to be had, but
//! for other threads' stacks, which could not wait for a page. What the kernel
//! refuses then is tried again (`refused`). While a device is at work, and other
//! threads that nothing keeps from writing, without `userfaultfd(2)`, a child whose
//! memory the pools cannot hold twice gets copies that were taken while those threads ran;
//! `torn` tells the allocator so.
//! `wp_monitor` keeps those waiting who write to copied pages until libc has forked, and
//! `apart` has a thread leave its stack where its child gets a copy of that; `elsewhere` is
//! for children that begin with a function.
//! `in_place` is for processes without a mapping to spare; `runs` are what all
//! of that is about, `shared` what this thread cannot do without. Below is the
//! net of [`sigbus`]. What the kernel copied in small parts may
//! [`recollapse`] later.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::config;
use crate::extent::index;
use crate::fault::{late, sigsegv};
use crate::kernel::facts;
use crate::migrate::shield::Shield;
use crate::migrate::{changes, runs, sigbus, write_freeze};
use crate::policy::pool_backoff::{self, Closed, Shortfall};
use crate::policy::thp;
use crate::registry;
use crate::registry::named::region;
use crate::rt::message::{Amount, Level, say};
use crate::rt::{fork_gate, lock, side_room, side_stack, weak};
use crate::sys::{self, PastLimit};

pub use apart::apart;
pub use elsewhere::{Child, Start, elsewhere, note_number};
use evacuate::evacuate;
use guard::Guard;
pub use refused::again_if_refused;
use shared::{Copied, Shared};
use way::{Way, Why};

pub mod admission;
mod apart;
mod asides;
mod child_copy;
mod elsewhere;
mod evacuate;
mod guard;
pub mod recollapse;
mod refused;
mod shared;
pub mod torn;
mod way;
mod wp_monitor;

/// So long, in milliseconds, waits a fork for that of another thread.
const PATIENCE: u64 = 2000;

/// After so many forks that had to move or copy something, a process gets no
/// more hugetlb pages.
const MOVES: u32 = 2;

/// What was done for the fork that has the gate closed, to be said after it.
static DONE: Done = Done {
    total: AtomicUsize::new(0),
    moved: AtomicUsize::new(0),
    copied: AtomicUsize::new(0),
    left: AtomicUsize::new(0),
};

#[derive(Debug)]
struct Done {
    /// How many bytes were in use on pages of pools.
    total: AtomicUsize,
    /// How many of them were moved.
    moved: AtomicUsize,
    /// How many were copied for the child.
    copied: AtomicUsize,
    /// Why they were left where they were; see [`Why::to_word`].
    left: AtomicUsize,
}

/// The same, taken out to be said.
#[derive(Debug)]
struct Told {
    total: usize,
    moved: usize,
    copied: usize,
    left: Option<Why>,
}

impl Done {
    fn take(&self) -> Told {
        let take = |figure: &AtomicUsize| figure.swap(0, Ordering::Relaxed);
        Told {
            total: take(&self.total),
            moved: take(&self.moved),
            copied: take(&self.copied),
            left: Why::of_word(take(&self.left)),
        }
    }
}

impl Told {
    fn say(&self) {
        if self.moved > 0 {
            evacuate::report(self.moved, self.total);
        }
        if self.copied > 0 {
            say(
                Level::Info,
                format_args!(
                    "fork: copied {} of hugetlb pages for the child",
                    Amount(self.copied)
                ),
            );
        }
        if let Some(why) = &self.left {
            pool_backoff::say_left(self.total, why);
        }
    }
}

/// Prepares for forks; the second time does nothing. To be called before huge
/// pages are handed out, outside of any allocation, and before anybody else
/// registers handlers, as far as that can be.
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

/// Whether a child has open files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptors {
    /// As after `fork(2)`.
    Copied,
    /// One that it closes is closed for the parent, too (`CLONE_FILES`).
    Shared,
}

/// Forks by `call`, for which libc runs no handlers: ours are run around it.
pub fn around(call: impl Fn() -> i32, descriptors: Descriptors) -> i32 {
    if Guard::of_this_thread().is_some() {
        // libc's own fork, which has run them.
        return call();
    }
    let fork = || {
        prepare_for(descriptors);
        let result = call();
        match result {
            0 => child(),
            _ => parent(),
        }
        result
    };
    apart(|| again_if_refused(fork))
}

extern "C" fn prepare() {
    prepare_for(Descriptors::Copied);
}

fn prepare_for(descriptors: Descriptors) {
    fork_gate::note_fork();
    pool_backoff::pause();
    let here = 0_u8;
    let stack = (&raw const here) as usize;
    if let Some(guard) = Guard::put_up() {
        side_stack::on_side_stack(|| index::look(|| separate(&guard, stack, descriptors)));
        // Not before: leaving that stack blocks again what was blocked.
        guard.let_faults_through();
        guard.leave_to_libc();
    }
}

/// Sees to it that parent and child share no hugetlb page.
fn separate(guard: &Guard, stack: usize, descriptors: Descriptors) {
    let _past_limit = PastLimit::begin();
    if config::get().kernel_fork {
        return;
    }
    region::lend();
    let total: usize = runs::writable().map(runs::hugetlb_bytes).sum();
    if total == 0 {
        return;
    }
    refused::note_pages();
    note_separation();
    let way = Way::choose(total);
    if !guard.has_closed() {
        // In a handler that has interrupted us: what it was at does not move.
        if let Way::Evacuate(shield) = way {
            pool_backoff::MOVED.store(true, Ordering::Relaxed);
            evacuate(runs::writable(), total, &shield);
            return;
        }
        // Of copies for a child there is one set at a time, and what another fork
        // has kept from its child the child of this one would miss, too.
        if !guard.close_at_once(PATIENCE) {
            return;
        }
    }
    DONE.total.store(total, Ordering::Relaxed);
    match way {
        Way::Evacuate(shield) => {
            pool_backoff::MOVED.store(true, Ordering::Relaxed);
            DONE.moved.store(
                evacuate(runs::writable(), total, &shield),
                Ordering::Relaxed,
            );
            guard.let_child_move();
        }
        Way::CopyForChild(shield) => {
            let which = Copied::AllBut(Shared::of_thread(stack));
            copy_for_child(shield, &which, descriptors);
            guard.let_child_move();
        }
        Way::Share => {
            copy_stacks(stack);
            guard.let_child_move();
        }
        Way::Leave(why) => {
            copy_stacks(stack);
            DONE.left.store(why.to_word(), Ordering::Relaxed);
        }
    }
}

fn copy_for_child(shield: Shield, which: &Copied, descriptors: Descriptors) {
    let copied = child_copy::begin(shield, which, descriptors);
    DONE.copied.store(copied, Ordering::Relaxed);
}

/// Keeps other threads' stacks from being shared. What else lies on their pages the
/// child has as it was a moment before the rest: who keeps threads from writing there
/// keeps the kernel, too.
fn copy_stacks(stack: usize) {
    if facts::has_threads() {
        let which = Copied::StacksBut(Shared::of_thread(stack));
        copy_for_child(Shield::Alone, &which, Descriptors::Copied);
    }
}

/// After some forks a process stays off pools.
fn note_separation() {
    static SEPARATED: AtomicU32 = AtomicU32::new(0);
    if SEPARATED.fetch_add(1, Ordering::Relaxed) + 1 >= MOVES {
        pool_backoff::close(Closed::Forks);
    }
}

extern "C" fn parent() {
    // A call into memory that the child shares now may have stopped there.
    late::note();
    pool_backoff::go_on();
    let Some(guard) = Guard::of_this_thread() else {
        return;
    };
    let told = guard.has_closed().then(|| {
        guard.go_on();
        child_copy::in_parent();
        DONE.take()
    });
    guard.take_down();
    // Not before: who reads what is said may be waiting.
    if let Some(told) = told {
        told.say();
        pool_backoff::say_forks();
    }
    recollapse::forked();
}

extern "C" fn child() {
    sys::note_first_thread();
    lock::forget_others();
    sigsegv::HANDLER.inherit();
    sigbus::HANDLER.inherit();
    side_stack::forget_others();
    side_room::forget_others();
    changes::forget_others();
    fork_gate::GATE.forget_others();
    index::forget_readers();
    index::adopt_units();
    write_freeze::thaw_in_child();
    refused::forget_others();
    PastLimit::forget_others();
    recollapse::forget();
    admission::forget();
    pool_backoff::go_on_alone();
    thp::look_again();
    let Some(guard) = Guard::of_this_thread() else {
        return;
    };
    side_stack::on_side_stack(|| become_independent(&guard));
    region::leave_behind();
    registry::in_child();
    guard.take_down_in_child();
}

/// In the child: leaves what it shares with the parent on pages of pools.
fn become_independent(guard: &Guard) {
    let _past_limit = PastLimit::begin();
    if guard.has_closed() {
        if child_copy::in_child() {
            pool_backoff::BACKOFF.note(Shortfall::Fork);
        }
        DONE.take();
    }
    if guard.child_moves() {
        let total: usize = runs::writable().map(runs::hugetlb_bytes).sum();
        if total > 0 {
            evacuate(runs::writable(), total, &Shield::Alone);
        }
    }
}
