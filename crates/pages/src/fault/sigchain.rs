//! Signal handlers that stand before the program's own and pass on to it what
//! is not theirs, as if they were not there.
//!
//! The program does not see them either: it is told of the action that it had,
//! and what it sets becomes what is passed on to. The kernel calls ours as it
//! would call the program's: on the stack, with the signals blocked and with the
//! system calls begun anew that the program asked for.
//!
//! An ignored `SIGBUS` stays ignored: what the process starts inherits that, but
//! no handler. It has no net then. So does an ignored `SIGSEGV` until it is
//! needed.
#![expect(unsafe_code, reason = "installs and calls signal handlers")]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::fault::{libc_sigaction, sigmask};
use crate::rt::lock::{Held, Lock};
use crate::sys::{self, NoSignals};

/// A handler of ours for one signal; what it does not want, it chains.
#[derive(Debug)]
pub struct Handler {
    signal: c_int,
    wants: fn(usize) -> bool,
    entry: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    /// Held while the program's action changes.
    turn: Lock,
    /// The process in which it stands, or 0.
    process: AtomicU32,
    /// Whether it has stepped aside, for a signal that the program ignores.
    aside: AtomicBool,
    /// Whether an ignored signal is none for us: there are faults to mend.
    insists: AtomicBool,
    /// The program's action, in one of two places: the other is written while
    /// this one may be read.
    actions: [UnsafeCell<MaybeUninit<libc::sigaction>>; 2],
    current: AtomicUsize,
}

// SAFETY: of `actions`, the place that is not `current` is written by whoever
// has the turn; what is read was written before it became `current`. A handler
// that is interrupted between two changes of the same action may read a mixture
// of two valid actions.
unsafe impl Sync for Handler {}

impl Handler {
    /// A handler for `signal` that is entered by `entry` and handles the
    /// addresses that `wants` takes.
    pub const fn new(
        signal: c_int,
        wants: fn(usize) -> bool,
        entry: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
    ) -> Handler {
        Handler {
            signal,
            wants,
            entry,
            turn: Lock::new(),
            process: AtomicU32::new(0),
            aside: AtomicBool::new(false),
            insists: AtomicBool::new(false),
            actions: [const { UnsafeCell::new(MaybeUninit::uninit()) }; 2],
            current: AtomicUsize::new(0),
        }
    }

    /// The turn to change actions. No signal handler of this thread can want it
    /// meanwhile.
    fn turn(&self) -> (Held<'_>, NoSignals) {
        let quiet = NoSignals::begin();
        (self.turn.lock(), quiet)
    }

    /// Stands before the program's handler; `false` where it did already, or
    /// cannot.
    pub fn install(&self) -> bool {
        let _turn = self.turn();
        let Some(now) = libc_sigaction::current(self.signal).filter(|now| !self.is_ours(now))
        else {
            return false;
        };
        self.put_action(&now);
        self.process.store(sys::getpid(), Ordering::Release);
        self.stand_before(&now)
    }

    /// The same, and also where the program ignores the signal.
    pub fn insist(&self) -> bool {
        self.insists.store(true, Ordering::Release);
        self.install()
    }

    /// Has the kernel call ours in the place of the program's action, or leaves
    /// the signal ignored.
    fn stand_before(&self, action: &libc::sigaction) -> bool {
        let is_ignored = action.sa_sigaction == libc::SIG_IGN;
        let aside = is_ignored && !self.insists.load(Ordering::Acquire);
        self.aside.store(aside, Ordering::Release);
        match aside {
            true => libc_sigaction::set(self.signal, action),
            false => libc_sigaction::set(self.signal, &self.ours(action)),
        }
    }

    /// Our action, with what the program's says of how it is called.
    fn ours(&self, action: &libc::sigaction) -> libc::sigaction {
        let mut ours = match action.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => default_action(),
            _ => *action,
        };
        let how = match action.sa_sigaction {
            // Where the thread's own stack may be full.
            libc::SIG_DFL | libc::SIG_IGN => libc::SA_ONSTACK | libc::SA_RESTART,
            _ => action.sa_flags & (libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER),
        };
        ours.sa_mask = of_kernel(&ours.sa_mask);
        ours.sa_sigaction = self.entry as usize;
        ours.sa_flags = how | libc::SA_SIGINFO;
        ours
    }

    /// Whether the kernel has what we have put there.
    fn is_in_place(&self, now: &libc::sigaction) -> bool {
        let is_aside = self.aside.load(Ordering::Acquire) && now.sa_sigaction == libc::SIG_IGN;
        is_aside || self.is_ours(now)
    }

    /// Gives the place back to the program's handler, unless the program has
    /// taken it meanwhile.
    pub fn remove(&self) {
        let _turn = self.turn();
        let is_ours = libc_sigaction::current(self.signal).is_some_and(|now| self.is_ours(&now));
        if let Some(action) = self.action().filter(|_| is_ours) {
            libc_sigaction::set(self.signal, &action);
            self.process.store(0, Ordering::Release);
        }
    }

    fn is_ours(&self, action: &libc::sigaction) -> bool {
        action.sa_sigaction == self.entry as usize
    }

    /// In the child of a fork: it stands here too.
    pub fn inherit(&self) {
        if self.process.load(Ordering::Acquire) != 0 {
            self.process.store(sys::getpid(), Ordering::Release);
        }
    }

    /// `sigaction(2)` of the program for this signal: `None` where it is the
    /// kernel's affair, since no handler of ours stands there. A child of
    /// `vfork`, which shares our memory but not our actions, asks the kernel.
    pub fn program_action(&self, new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
        if self.process.load(Ordering::Acquire) != sys::getpid() {
            return None;
        }
        let _turn = self.turn();
        let in_place =
            libc_sigaction::current(self.signal).is_some_and(|now| self.is_in_place(&now));
        let old = self.action().filter(|_| in_place)?;
        if let Some(new) = new {
            self.put_action(new);
            self.stand_before(new);
        }
        Some(old)
    }

    /// Whether it may stand before the program's handler just now.
    pub fn stands(&self) -> bool {
        self.process.load(Ordering::Acquire) != 0
    }

    /// What the program is to see of an action that the kernel told.
    pub fn seen(&self, told: libc::sigaction) -> libc::sigaction {
        match self.is_ours(&told) {
            true => self.action().unwrap_or(told),
            false => told,
        }
    }

    fn put_action(&self, action: &libc::sigaction) {
        let next = 1 - self.current.load(Ordering::Relaxed);
        // SAFETY: see `Sync`: this place is not read.
        unsafe { (*self.actions[next].get()).write(*action) };
        self.current.store(next, Ordering::Release);
    }

    /// The program's action, once there was a need to know it.
    fn action(&self) -> Option<libc::sigaction> {
        if self.process.load(Ordering::Acquire) == 0 {
            return None;
        }
        let place = &self.actions[self.current.load(Ordering::Acquire)];
        // SAFETY: see `Sync`: nobody writes this place.
        let action = unsafe { &*place.get() };
        // SAFETY: written before `process` was set.
        Some(unsafe { action.assume_init() })
    }

    /// What `entry` does: handles the signal, or passes it on.
    ///
    /// # Safety
    /// The arguments must be what the kernel gave to `entry`.
    pub unsafe fn enter(&self, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel gives a valid siginfo to SA_SIGINFO handlers.
        let known = unsafe { &*info };
        // SAFETY: the field that signals for faults have; for others it is not
        // looked at.
        let addr = unsafe { known.si_addr() } as usize;
        let is_fault = known.si_code > 0;
        // Of SIGSEGV and SIGBUS the first two codes are about mappings; others
        // are about memory that is broken, or locked by keys.
        let is_about_mapping = matches!(known.si_code, 1 | 2);
        if is_about_mapping && (self.wants)(addr) {
            return;
        }
        // The kernel kills for a fault whose signal is blocked, whatever the handler.
        // SAFETY: likewise.
        if is_fault && sigmask::has_blocked(self.signal, unsafe { blocked_before(context) }) {
            return self.let_it_kill(is_fault);
        }
        // SAFETY: as the caller says.
        if is_fault || !unsafe { sigmask::hold(self.signal, info, context) } {
            self.chain(is_fault, info, context);
        }
    }

    /// Does what would have happened without us.
    fn chain(&self, is_fault: bool, info: *mut libc::siginfo_t, context: *mut c_void) {
        let action = self.action().unwrap_or_else(default_action);
        match action.sa_sigaction {
            libc::SIG_IGN if !is_fault => {}
            // The kernel kills for a fault whose signal is ignored.
            libc::SIG_DFL | libc::SIG_IGN => self.let_it_kill(is_fault),
            _ => self.call(&action, info, context),
        }
    }

    /// Restores the default action. A fault happens again on return, and then
    /// kills with everything as it was; a signal that was sent is sent again.
    fn let_it_kill(&self, is_fault: bool) {
        libc_sigaction::set(self.signal, &default_action());
        if !is_fault {
            // SAFETY: raises a signal in this thread, pending until we return.
            unsafe { libc::raise(self.signal) };
        }
    }

    /// Calls the program's handler as the kernel would: with the signals
    /// blocked that it asked for, and once only if it asked for that. What was
    /// blocked before is restored by the return from this handler.
    fn call(&self, action: &libc::sigaction, info: *mut libc::siginfo_t, context: *mut c_void) {
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            libc_sigaction::set(self.signal, &default_action());
        }
        let own = match action.sa_flags & libc::SA_NODEFER {
            0 => 1 << (self.signal - 1),
            _ => 0,
        };
        // SAFETY: the kernel's own context.
        let before = unsafe { blocked_before(context) };
        // SAFETY: libc's.
        let wanted = unsafe { sigmask::read(&raw const action.sa_mask) };
        let now = sigmask::for_program(before) | wanted | own;
        sys::set_blocked_signals(if sigmask::is_used() {
            sigmask::for_kernel(now)
        } else {
            now
        });
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            // SAFETY: an action with SA_SIGINFO holds such a function.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { core::mem::transmute(action.sa_sigaction) };
            handler(self.signal, info, context);
        } else {
            // SAFETY: an action without SA_SIGINFO holds such a function.
            let handler: extern "C" fn(c_int) =
                unsafe { core::mem::transmute(action.sa_sigaction) };
            handler(self.signal);
        }
    }
}

/// What the kernel is to block while a handler runs, for what the program asks.
fn of_kernel(set: &libc::sigset_t) -> libc::sigset_t {
    let mut changed = *set;
    // SAFETY: libc's.
    let wanted = unsafe { sigmask::read(set) };
    // SAFETY: likewise.
    unsafe { sigmask::write(&raw mut changed, sigmask::meanwhile(wanted)) };
    changed
}

/// The signals that were blocked when the signal came.
///
/// # Safety
/// `context` must be what the kernel gave to a handler.
unsafe fn blocked_before(context: *mut c_void) -> u64 {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: as the caller says.
    let set = unsafe { &raw const (*context).uc_sigmask };
    // SAFETY: likewise; the kernel fills one word.
    unsafe { set.cast::<u64>().read() }
}

fn default_action() -> libc::sigaction {
    // SAFETY: all bits zero are the default action.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
