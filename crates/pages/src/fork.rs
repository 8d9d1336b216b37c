//! What happens around a fork.
//!
//! A private hugetlb page that is written after a fork needs a second page of the pool.
//! Where there is none the writer dies of `SIGBUS`, and a system call that writes there
//! fails. So before libc forks private pool memory moves to ordinary memory, the fork is the
//! kernel's ordinary one, and the pool's pages are free again.
//!
//! [`admission`] sees to it that memory can move: a process has one thread, or write
//! protection that also stops the kernel, or no private memory on pools. Where memory cannot
//! move all the same (`way`), parent and child share its pages, as the kernel has it, and
//! one line says so. `posix_spawn` and `vfork` need nothing. A child by a `clone` of the
//! program's own gets what the kernel gives it.
//!
//! **Invariants.** A fork never fails because of us. What the child finds is what the kernel
//! took at one moment.
//!
//! **Locks.** One guard holds the signals and the gate, in this order, and lets go of them in
//! the reverse order.
//!
//! **At a fork.** libc calls the handlers that were registered for a fork: all `prepare`, the
//! last one first, then it forks, then all `parent` or `child`, the first one first. Ours are
//! the first ones ([`watch`]), so that our `prepare` runs last and our `parent` and `child`
//! run before those of others. In between:
//!
//! * The forking thread may allocate: it passes the gate that it has closed itself.
//! * Its signal handlers do not run: signals are blocked.
//! * Other threads run on. One that wants to change what stands behind memory waits at the
//!   gate for a moment and then goes through, since the forking thread may wait for a lock of
//!   libc's that it holds. No pages of pools are taken meanwhile.
//! * The child has this thread only. Changes that others were at are ended for it
//!   (`Unit::adopt`), their locks are free ([`lock`]).

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::config;
use crate::extent::index;
use crate::migrate::runs;
use crate::policy::pool_backoff::{self, Closed};
use crate::policy::thp;
use crate::registry;
use crate::rt::message::{Level, say};
use crate::rt::{fork_gate, lock, weak};

use guard::Guard;

pub mod admission;
mod evacuate;
mod guard;
mod way;

/// How many forks may move memory before the process stays off pools.
const MOVES: u32 = 2;

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

extern "C" fn prepare() {
    fork_gate::note_fork();
    pool_backoff::pause();
    Guard::put_up();
    index::look(separate);
}

/// Has parent and child share no hugetlb page.
fn separate() {
    if config::get().kernel_fork {
        return;
    }
    let total: usize = runs::writable().map(runs::hugetlb_bytes).sum();
    if total == 0 {
        return;
    }
    match way::shield_for(total) {
        Ok(shield) => {
            pool_backoff::MOVED.store(true, Ordering::Relaxed);
            let moved = evacuate::evacuate(runs::writable(), total, &shield);
            evacuate::report(moved);
            note_move();
        }
        Err(why) => pool_backoff::say_left(total, &why),
    }
}

/// After some forks a process stays off pools.
fn note_move() {
    static MOVED: AtomicU32 = AtomicU32::new(0);
    if MOVED.fetch_add(1, Ordering::Relaxed) + 1 >= MOVES {
        pool_backoff::close(Closed::Forks);
        pool_backoff::say_forks();
    }
}

extern "C" fn parent() {
    pool_backoff::go_on();
    if let Some(guard) = Guard::of_this_thread() {
        guard.take_down();
    }
}

extern "C" fn child() {
    lock::forget_others();
    fork_gate::GATE.forget_others();
    index::forget_readers();
    index::adopt_units();
    admission::forget();
    pool_backoff::go_on_alone();
    thp::look_again();
    registry::in_child();
    if let Some(guard) = Guard::of_this_thread() {
        guard.take_down_in_child();
    }
}
