//! Nobody writes to what was copied for a child until libc has forked: what the kernel
//! gives to the child of ordinary memory is of the same moment as the copies then.
//!
//! But libc forks under locks of its own. A thread that holds one of them may be waiting
//! for memory that is protected, as `fopen(3)` does that fills its block; and handlers of
//! forks that were registered before ours run after it. So a thread of ours looks on,
//! with all signals blocked, a stack of its own, and nothing of libc's. It lets the
//! forking thread through at each page; and where that one waits, but not for the
//! kernel's fork, it lets all through. What they write then the child may have in part,
//! for want of anything better: of a program's own locks it knows nothing.
//!
//! Where there can be no such thread the protection ends before libc forks.
#![expect(
    unsafe_code,
    reason = "begins a thread, and passes it what it looks at"
)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use crate::rt::side_stack::OwnStack;
use crate::sys::{self, File, NoSignals, WriteProtection};

use super::asides::{self, Aside};
use super::{refused, torn};

/// The thread makes system calls and holds a line of text.
const STACK: usize = 16 << 10;

/// So many milliseconds are between two looks at what the forking thread does.
const TICK: u64 = 1;

/// At so many of them it must have waited, in succession, for something else.
const LOOKS: u32 = 10;

/// So many milliseconds do others wait at most, for a fork that takes as long.
const LONGEST: u64 = 2000;

/// What the thread looks at.
struct Watch {
    protection: WriteProtection,
    /// The number of the thread that forks.
    forking: u32,
    /// What that one does (`/proc/PID/task/TID/syscall`), where it can be told.
    doing: Option<File>,
    #[expect(dead_code, reason = "unmapped with the rest")]
    stack: OwnStack,
}

/// The one that is in use; there is one fork at a time that keeps others from writing.
static WATCH: AtomicPtr<Watch> = AtomicPtr::new(core::ptr::null_mut());
/// The number of the thread; 0 once it has ended.
static THREAD: AtomicU32 = AtomicU32::new(0);
/// Whether libc has forked.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Keeps the protection until [`end`], or as long as nobody waits for it in vain. Given
/// back where there can be no thread that looks on.
pub(super) fn begin(protection: WriteProtection) -> Result<(), WriteProtection> {
    let stack = OwnStack::map(STACK)
        .ok()
        .filter(|_| !refused::is_unwatched());
    let Some(stack) = stack else {
        return Err(protection);
    };
    let top = stack.top();
    // The highest part of the stack is what it looks at.
    let place = (top - size_of::<Watch>()) & !(STACK_ALIGN - 1);
    let watch = place as *mut Watch;
    let file = File::open(c"/proc/thread-self/syscall", libc::O_RDONLY);
    let new = Watch {
        protection,
        forking: sys::gettid(),
        doing: file.ok(),
        stack,
    };
    // SAFETY: within the new stack, above what is used of it.
    unsafe { watch.write(new) };
    FORKED.store(false, Ordering::Relaxed);
    torn::note(false);
    let begun = {
        let _none = NoSignals::begin();
        // SAFETY: its stack stays until it has ended; it calls the kernel only.
        unsafe { sys::begin_thread(place, look_on, watch.cast(), &THREAD) }
    };
    if begun.is_err() {
        torn::note(true);
        // SAFETY: written above, and nobody else has it.
        return Err(unsafe { watch.read() }.protection);
    }
    WATCH.store(watch, Ordering::Release);
    refused::note_watch();
    Ok(())
}

/// What a stack's end is a multiple of.
const STACK_ALIGN: usize = 64;

/// In the parent, after the fork or its failure: all may write again.
pub(super) fn end() {
    let watch = WATCH.swap(core::ptr::null_mut(), Ordering::Acquire);
    if watch.is_null() {
        return;
    }
    FORKED.store(true, Ordering::Release);
    // SAFETY: written by `begin`, and read by the thread until it has ended.
    open_to_all(unsafe { &(*watch).protection });
    sys::wait_for_thread(&THREAD);
    // SAFETY: as above; nobody else has it any more.
    drop(unsafe { watch.read() });
}

/// In the child, which has neither the thread nor any protection.
pub(super) fn forget() {
    THREAD.store(0, Ordering::Relaxed);
    let watch = WATCH.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !watch.is_null() {
        // SAFETY: written by `begin`, and the child's own.
        drop(unsafe { watch.read() });
    }
}

/// Ends the protection of all that was copied.
pub(super) fn open_to_all(protection: &WriteProtection) {
    for range in asides::all().iter().map(Aside::range) {
        protection.release(&range);
        protection.forget(&range);
    }
}

/// Ends that of the page at an address.
fn let_through(addr: usize, protection: &WriteProtection) {
    let aside = asides::all()
        .iter()
        .find(|aside| aside.range().contains(&addr));
    if let Some(aside) = aside {
        protection.release(&aside.page_at(addr));
    }
}

extern "C" fn look_on(watch: *mut c_void) -> c_int {
    // SAFETY: what `begin` has written; it stays until this thread has ended.
    unsafe { &*watch.cast::<Watch>() }.look_on();
    0
}

impl Watch {
    fn look_on(&self) {
        let last = sys::now() + LONGEST;
        let (mut others_wait, mut stuck, mut next) = (false, 0, 0);
        while !FORKED.load(Ordering::Acquire) {
            if let Some(waiter) = self.protection.waiter(TICK) {
                match waiter.thread == self.forking {
                    true => let_through(waiter.addr, &self.protection),
                    false => others_wait = true,
                }
            }
            let now = sys::now();
            if now < next {
                continue;
            }
            next = now + TICK;
            stuck = match others_wait && self.waits_for_another() {
                true => stuck + 1,
                false => 0,
            };
            if stuck == LOOKS || now >= last {
                torn::note(true);
                return open_to_all(&self.protection);
            }
        }
    }

    /// Whether the forking thread waits, and not in the kernel's fork; also where that
    /// cannot be told.
    fn waits_for_another(&self) -> bool {
        let mut text = [0; 128];
        let read = self.doing.as_ref().map(|file| file.read_at(&mut text, 0));
        let Some(Ok(len)) = read else {
            return true;
        };
        let word = text[..len].split(|byte| byte.is_ascii_whitespace()).next();
        let number = word.and_then(|word| core::str::from_utf8(word).ok()?.parse().ok());
        // Else it runs, or waits for a page.
        number.is_some_and(|number: libc::c_long| number >= 0 && !is_fork(number))
    }
}

/// Whether a system call is one that libc forks by.
fn is_fork(number: libc::c_long) -> bool {
    [Some(libc::SYS_clone), Some(libc::SYS_clone3), sys::FORK].contains(&Some(number))
}
