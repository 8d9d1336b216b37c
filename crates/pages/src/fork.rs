//! Private pool memory at forks.
//!
//! A private hugetlb page that is written after a fork needs a second page of the pool. If the
//! pool has none, the kernel kills the writer (SIGBUS), or a system call fails. So private pool
//! memory moves to ordinary memory before libc forks.
//!
//! [`admission`] ensures that the memory can move. If it can't (`blocker`), parent and child
//! share its pages as the kernel defines, and one line says so. `posix_spawn` and `vfork` need
//! nothing. Children of a raw `clone` get the kernel's semantics.
//!
//! **Invariants.** A fork never fails because of us.
//!
//! **Locks.** The guard blocks signals, then closes the gate; it releases in reverse.
//!
//! **At a fork.** Our handlers are registered first ([`watch`]): `prepare` runs last before
//! the fork, `parent` and `child` run first after it. In between:
//!
//! * The forking thread has signals blocked, if it could close the gate. It may allocate: its own
//!   closed gate lets it pass.
//! * Other threads run. A thread that would change pages waits at the gate for up to 0.2 s, then
//!   passes: it may hold a lock of libc that the forking thread needs. It gets no pool pages.
//! * The child has one thread. It finishes changes of other threads (`Unit::adopt`); their locks
//!   are free ([`lock`]).

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::config;
use crate::extent::{index, mlocked};
use crate::migrate::runs;
use crate::next_touch::request as next_touch;
use crate::policy::pool_backoff::{self, Shortfall};
use crate::policy::thp;
use crate::rt::message::{Level, say};
use crate::rt::{fork_gate, lock, weak};

pub mod admission;
mod blocker;
mod evacuate;
mod guard;

/// Number of forks that move memory; after them the heap stays off pools.
/// The reason of [`Shortfall::Forks`] names the number.
const MOVES: u32 = 2;

/// Registers our fork handlers once. Call it outside of any allocation, before huge pages are
/// handed out and before others register handlers.
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
    fork_gate::note_fork();
    pool_backoff::pause();
    guard::begin();
    next_touch::pause();
    leave_pools();
}

/// Moves private memory off the pools, and reports it.
fn leave_pools() {
    if config::get().kernel_fork {
        return;
    }
    match evacuate::leave_pools() {
        None => {}
        Some(Ok(moved)) => {
            evacuate::report(moved);
            note_move();
        }
        Some(Err(why)) => pool_backoff::say_left(runs::total_bytes(), &why),
    }
}

/// Counts a move; closes the pools after `MOVES`.
fn note_move() {
    static MOVED: AtomicU32 = AtomicU32::new(0);
    if MOVED.fetch_add(1, Ordering::Relaxed) + 1 >= MOVES {
        pool_backoff::close(Shortfall::Forks);
        pool_backoff::say_forks();
    }
}

extern "C" fn parent() {
    next_touch::resume();
    pool_backoff::resume();
    guard::end();
}

extern "C" fn child() {
    lock::forget_others();
    fork_gate::GATE.forget_others();
    index::adopt_units();
    admission::forget();
    next_touch::in_child();
    pool_backoff::resume_in_child();
    thp::discard_room();
    // A child inherits no memory locks.
    mlocked::clear();
    guard::end();
}
