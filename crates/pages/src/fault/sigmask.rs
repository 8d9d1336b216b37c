//! Sets of blocked signals, as the program has them and as the kernel does.
//!
//! A fault whose signal is blocked kills, and a page that has to be mended may
//! be touched at any time. So where the program blocks both `SIGSEGV` and
//! `SIGBUS`, as those do that block all, the kernel lets both through; that the
//! program has them blocked is kept in the kernel's own set, by the bit of a
//! signal that nobody sends (`SIGSTKFLT`, which Linux has never raised). There it
//! is right in every thread and after every `siglongjmp`, and nothing is to be
//! kept up. Only that signal itself is not told rightly, if it is blocked without
//! the other two. A program that blocks one of the two waits for it, and has it.
//!
//! One that is sent nevertheless while the program has it blocked is held: see
//! `hold`.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::rt::side_stack;
use crate::sys;

const BOTH: u64 = 1 << (libc::SIGSEGV - 1) | 1 << (libc::SIGBUS - 1);
const MARK: u64 = 1 << 15;

/// Whether sets are changed at all: not before there is anything to mend.
static USED: AtomicBool = AtomicBool::new(false);

/// Begins to let both signals through, in this thread at once. Handlers must
/// stand for both.
pub(crate) fn begin() {
    USED.store(true, Ordering::Release);
    side_stack::let_through(BOTH, MARK);
    let now = sys::block_signals(0);
    if now & (BOTH | MARK) != 0 {
        sys::set_blocked_signals(for_kernel(now));
    }
}

/// Whether that has begun.
#[inline]
pub fn is_used() -> bool {
    USED.load(Ordering::Acquire)
}

/// What the kernel is to block for what the program blocks.
#[must_use]
pub fn for_kernel(set: u64) -> u64 {
    match set & BOTH {
        BOTH => set & !BOTH | MARK,
        _ => set & !MARK,
    }
}

/// What the program blocks where the kernel blocks this.
#[must_use]
pub fn for_program(set: u64) -> u64 {
    match set & MARK {
        0 => set,
        _ => set | BOTH,
    }
}

/// What a call of `pthread_sigmask` is to ask of the kernel before that has begun:
/// the mark comes with both signals only, and goes with either. So it tells rightly
/// afterwards.
#[must_use]
pub fn early(how: c_int, set: u64) -> u64 {
    match (how, set & BOTH) {
        (libc::SIG_UNBLOCK, 0) => set,
        (libc::SIG_UNBLOCK, _) => set | MARK,
        (_, BOTH) => set,
        _ => set & !MARK,
    }
}

/// What the kernel is to block, now, while a call or a handler of the program's runs.
#[must_use]
pub fn meanwhile(set: u64) -> u64 {
    match is_used() {
        true => for_kernel(set),
        false => early(libc::SIG_SETMASK, set),
    }
}

/// What the kernel is to block for faults to come through, where it blocks one of them
/// now.
pub(crate) fn with_faults_through(set: u64) -> Option<u64> {
    (is_used() && set & BOTH != 0).then_some(set & !BOTH | MARK)
}

/// Whether the program has one of the two signals blocked where the kernel blocks
/// this, and its fault has come through nevertheless.
pub(super) fn has_blocked(signal: c_int, set: u64) -> bool {
    is_used() && for_program(set) & (1 << (signal - 1)) != 0
}

/// What such a call of `pthread_sigmask` is to ask of the kernel; `None` where
/// that depends on what is blocked already.
#[must_use]
pub fn at_once(how: c_int, set: u64) -> Option<u64> {
    let both = set & BOTH;
    match how {
        libc::SIG_SETMASK => Some(for_kernel(set)),
        libc::SIG_BLOCK if both == 0 || both == BOTH => Some(for_kernel(set)),
        libc::SIG_UNBLOCK if both == 0 => Some(set & !MARK),
        libc::SIG_UNBLOCK if both == BOTH => Some(set | MARK),
        _ => None,
    }
}

/// What the program blocks after a call of `pthread_sigmask`; `None` for a call
/// that the kernel refuses.
#[must_use]
pub fn after(before: u64, how: c_int, set: u64) -> Option<u64> {
    match how {
        libc::SIG_BLOCK => Some(before | set),
        libc::SIG_UNBLOCK => Some(before & !set),
        libc::SIG_SETMASK => Some(set),
        _ => None,
    }
}

/// Runs a call that waits with another set of signals, `sigsuspend` or the like:
/// while it waits, a handler is told of the one that comes back afterwards.
pub fn while_waiting<R>(call: impl FnOnce() -> R) -> R {
    let before = sys::block_signals(0);
    if before & MARK == 0 {
        return call();
    }
    sys::block_signals(BOTH);
    let result = call();
    sys::set_blocked_signals(before);
    result
}

/// The kernel's set of 64 signals in libc's longer one.
///
/// # Safety
/// It must be one.
#[expect(unsafe_code, reason = "reads a set by address")]
#[must_use]
pub unsafe fn read(set: *const libc::sigset_t) -> u64 {
    // SAFETY: the set is at least so long, and as well aligned.
    unsafe { set.cast::<u64>().read() }
}

/// Changes the kernel's set in libc's longer one.
///
/// # Safety
/// It must be one.
#[expect(unsafe_code, reason = "writes a set by address")]
pub unsafe fn write(set: *mut libc::sigset_t, signals: u64) {
    // SAFETY: the set is at least so long, and as well aligned.
    unsafe { set.cast::<u64>().write(signals) }
}

/// A set of libc's.
#[expect(unsafe_code, reason = "builds a set")]
#[must_use]
pub fn set_of(signals: u64) -> libc::sigset_t {
    // SAFETY: all bits zero are a set.
    let mut set = unsafe { MaybeUninit::<libc::sigset_t>::zeroed().assume_init() };
    // SAFETY: one.
    unsafe { write(&raw mut set, signals) };
    set
}

/// A signal that was sent, and has come through though the program has it
/// blocked: blocks it in this thread when its handler returns, and sends it once
/// more, to whom it was sent. Whether it was one.
///
/// # Safety
/// The arguments must be what the kernel gave to a handler.
#[expect(unsafe_code, reason = "changes what a handler returns to")]
pub(super) unsafe fn hold(
    signal: c_int,
    info: *const libc::siginfo_t,
    context: *mut c_void,
) -> bool {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: as the caller says.
    let set = unsafe { &raw mut (*context).uc_sigmask };
    // SAFETY: likewise; the kernel fills one word.
    let before = unsafe { read(set) };
    let own = 1 << (signal - 1);
    // One that is blocked has come through by a call that waits with another set.
    if !is_used() || before & MARK == 0 || before & own != 0 {
        return false;
    }
    // The handler may be one that its own signal interrupts.
    sys::block_signals(own);
    // SAFETY: what the kernel has written.
    let is_sent = unsafe { sys::send_again(signal, info) }.is_ok();
    if is_sent {
        // SAFETY: likewise; the kernel reads one word.
        unsafe { write(set, before | own) };
    }
    is_sent
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = u64::MAX;

    fn bit(signal: c_int) -> u64 {
        1 << (signal - 1)
    }

    #[test]
    fn the_program_sees_what_it_has_set() {
        let sets = [
            0,
            ALL,
            ALL & !bit(libc::SIGINT),
            ALL & !bit(libc::SIGSEGV),
            bit(libc::SIGBUS),
            bit(libc::SIGALRM),
            BOTH,
        ];
        for set in sets {
            assert_eq!(for_program(for_kernel(set)) & !MARK, set & !MARK, "{set:x}");
        }
    }

    #[test]
    fn faults_come_through_where_all_is_blocked() {
        assert_eq!(for_kernel(ALL), ALL & !BOTH);
        assert_eq!(for_kernel(BOTH) & BOTH, 0);
        assert_eq!(for_kernel(bit(libc::SIGBUS)), bit(libc::SIGBUS));
    }

    #[test]
    fn most_calls_need_no_look_at_what_is_blocked() {
        let sets = [0, ALL, bit(libc::SIGALRM), BOTH, ALL & !bit(libc::SIGUSR1)];
        for how in [libc::SIG_BLOCK, libc::SIG_UNBLOCK, libc::SIG_SETMASK] {
            for (before, set) in sets.iter().flat_map(|a| sets.map(|b| (*a, b))) {
                let asked = at_once(how, set).unwrap();
                let kernel = after(for_kernel(before), how, asked).unwrap();
                let wanted = after(before, how, set).unwrap();
                assert_eq!(
                    for_program(kernel) | MARK,
                    wanted | MARK,
                    "{before:x} {set:x}"
                );
                assert_eq!(kernel & BOTH, 0, "{before:x} {set:x}");
            }
        }
        assert_eq!(at_once(libc::SIG_BLOCK, bit(libc::SIGBUS)), None);
    }

    #[test]
    fn the_mark_of_before_says_nothing_else() {
        let but_faults = ALL & !BOTH;
        for set in [but_faults, MARK, ALL & !bit(libc::SIGBUS)] {
            assert_eq!(early(libc::SIG_SETMASK, set) & MARK, 0, "{set:x}");
            assert_eq!(early(libc::SIG_BLOCK, set), set & !MARK, "{set:x}");
        }
        assert_eq!(early(libc::SIG_SETMASK, ALL), ALL);
        let left = after(ALL, libc::SIG_UNBLOCK, early(libc::SIG_UNBLOCK, BOTH));
        assert_eq!(left, Some(but_faults & !MARK));
        assert_eq!(early(libc::SIG_UNBLOCK, 0), 0);
    }

    #[test]
    fn one_by_one() {
        let one = after(0, libc::SIG_BLOCK, bit(libc::SIGBUS)).unwrap();
        let two = after(one, libc::SIG_BLOCK, bit(libc::SIGSEGV)).unwrap();
        assert_eq!(for_kernel(two), MARK);
        let seen = for_program(for_kernel(two));
        let left = after(seen, libc::SIG_UNBLOCK, bit(libc::SIGBUS)).unwrap();
        assert_eq!(for_kernel(left), bit(libc::SIGSEGV));
        assert_eq!(after(0, 77, 0), None);
    }
}
