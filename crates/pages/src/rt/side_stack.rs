//! Stacks of our own, for work that needs more room than the program's threads
//! may have left: a thread may have 16 KiB in all, a coroutine 8 KiB, and what
//! it calls is `malloc`.
//!
//! A stack is mapped when it is first needed and kept for the process. Meanwhile
//! all signals but those that a fault raises are blocked: a handler of the
//! program's would find itself on a stack that it does not know, as a garbage
//! collector does not either. A program that has filtered its own system calls
//! keeps its signals: it may allow none that blocks them.

mod switch;

pub use switch::OwnStack;

use core::sync::atomic::{AtomicU64, Ordering};

use crate::rt::place::Place;
use crate::sys::{self, Filter};

/// The bytes of a stack, without the page below it that nobody can touch.
const SIZE: usize = 64 << 10;

/// So many stacks are there at most. A thread that finds all of them in use goes
/// on where it is.
const MOST: usize = 16;

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// Signals of faults that come through even to a thread that has blocked all of
/// them, and the signal whose bit says so instead; 0 until that holds.
static THROUGH: AtomicU64 = AtomicU64::new(0);
static INSTEAD: AtomicU64 = AtomicU64::new(0);

/// Has these signals come through to threads that have blocked all of them, with
/// another one's bit instead. A thread that had them blocked before, or was begun by
/// one that had, gets there when it is next on a stack of ours: at its first `malloc`.
pub fn let_through(signals: u64, instead: u64) {
    INSTEAD.store(instead, Ordering::Relaxed);
    THROUGH.store(signals, Ordering::Release);
}

/// Blocks what is blocked meanwhile; what is to be blocked afterwards.
fn block() -> u64 {
    let before = sys::block_signals(!sys::FAULTS);
    let through = THROUGH.load(Ordering::Acquire);
    if through == 0 || before & through != through {
        return before;
    }
    let after = before & !through | INSTEAD.load(Ordering::Relaxed);
    sys::set_blocked_signals(after | !sys::FAULTS);
    after
}

/// Runs `work` on a stack of ours, or where it is called if that is one already
/// or none can be had.
#[inline(never)]
pub fn on_side_stack<R>(work: impl FnOnce() -> R) -> R {
    let here = 0_u8;
    if is_side_stack((&raw const here) as usize) {
        return run_here(work);
    }
    // Before a place is taken: a handler of a signal may come here, too.
    let may_block = sys::filter() != Filter::Own;
    let signals = may_block.then(block);
    let result = match take() {
        Some(place) => {
            let result = switch::run_on(place.base() + SIZE, work);
            place.leave();
            result
        }
        None => run_here(work),
    };
    if let Some(signals) = signals {
        sys::set_blocked_signals(signals);
    }
    result
}

/// Runs `work`, which others may have a part in, on a stack of so many bytes that
/// is mapped for it alone; where it is called if there is no memory for that.
/// Signals are not blocked.
pub fn on_own_stack<R>(size: usize, work: impl FnOnce() -> R) -> R {
    match OwnStack::map(size) {
        Ok(stack) => switch::run_on(stack.top(), work),
        Err(_) => run_here(work),
    }
}

/// Runs `work` on the stack that ends at `top`, which is nobody else's. Signals are not
/// blocked.
pub fn on_stack<R>(top: usize, work: impl FnOnce() -> R) -> R {
    switch::run_on(top, work)
}

/// Runs `work` with a frame of its own, which [`on_side_stack`] must not have.
#[inline(never)]
fn run_here<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Whether an address lies on one of our stacks.
pub fn is_side_stack(addr: usize) -> bool {
    PLACES.iter().any(|place| {
        let base = place.base();
        base != 0 && (base..base + SIZE).contains(&addr)
    })
}

/// In the child of a fork: the threads on the other stacks did not come along.
pub fn forget_others() {
    Place::forget_others(&PLACES);
}

/// A stack for this thread.
fn take() -> Option<&'static Place> {
    Place::take(&PLACES, || OwnStack::map(SIZE).ok().map(OwnStack::keep))
}

#[cfg(test)]
mod tests {
    use core::ffi::c_int;

    use super::*;

    fn here() -> usize {
        let here = 0_u8;
        core::hint::black_box(&raw const here) as usize
    }

    #[test]
    fn work_is_done_elsewhere_and_its_result_comes_back() {
        assert!(!is_side_stack(here()));
        let text = String::from("moved in");
        let (on, nested, text) = on_side_stack(|| {
            let nested = on_side_stack(here);
            (here(), nested, text + " and out")
        });
        assert!(is_side_stack(on) && is_side_stack(nested));
        assert!(on.abs_diff(nested) < SIZE);
        assert_eq!(text, "moved in and out");
        assert!(!is_side_stack(here()));
    }

    #[test]
    fn much_room_and_no_signals() {
        let left = on_side_stack(|| {
            // Without optimization there are several copies of it.
            let room = core::hint::black_box([7_u8; SIZE / 8]);
            let blocked = sys::block_signals(0);
            assert_eq!(
                room.iter().map(|byte| *byte as usize).sum::<usize>(),
                7 * SIZE / 8
            );
            blocked
        });
        let bit = |signal: c_int| left >> (signal - 1) & 1;
        assert_eq!((bit(libc::SIGALRM), bit(libc::SIGSEGV)), (1, 0));
        assert_eq!(sys::block_signals(0) >> (libc::SIGALRM - 1) & 1, 0);
    }

    #[test]
    fn more_threads_than_stacks() {
        let sum = core::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 * MOST {
                scope.spawn(|| {
                    for _ in 0..200 {
                        on_side_stack(|| sum.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 400 * MOST);
    }
}
