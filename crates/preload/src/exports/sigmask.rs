//! The functions of libc that are about which signals are blocked; see
//! `masks`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::c_int;
use core::ptr;

use hugetools_pages::fault::sigmask;
use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, Errno, cast};
use libc::{sighandler_t, sigset_t};

use crate::next::call::{next, next_of_another};
use crate::next::following::Following;
use crate::signals::{self, masks};

/// `pthread_sigmask(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::of_thread(how, set, old) }
}

/// `sigprocmask(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::of_process(how, set, old) }
}

/// `sigsuspend(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const sigset_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { masks::suspend(set) }
}

/// `pthread_attr_setsigmask_np(3)`, by which a thread begins with signals blocked.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setsigmask_np(
    attributes: *mut libc::pthread_attr_t,
    set: *const sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    let changed = (!set.is_null())
        .then(|| sigmask::set_of(sigmask::meanwhile(unsafe { sigmask::read(set) })));
    let set = changed.as_ref().map_or(ptr::null(), ptr::from_ref);
    next!(
        c"pthread_attr_setsigmask_np",
        fn(*mut libc::pthread_attr_t, *const sigset_t) -> c_int,
        (attributes, set),
        else { libc::ENOSYS }
    )
}

/// `pthread_attr_getsigmask_np(3)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_getsigmask_np(
    attributes: *const libc::pthread_attr_t,
    set: *mut sigset_t,
) -> c_int {
    let result = next!(
        c"pthread_attr_getsigmask_np",
        fn(*const libc::pthread_attr_t, *mut sigset_t) -> c_int,
        (attributes, set),
        else { libc::ENOSYS }
    );
    if result == 0 {
        // SAFETY: as the caller says, and libc has filled it.
        let told = sigmask::for_program(unsafe { sigmask::read(set) });
        // SAFETY: likewise.
        unsafe { sigmask::write(set, told) };
    }
    result
}

/// Functions that libc makes of those above, without calling ours. A library of the program's
/// may have one of that name, which gets its arguments whole.
macro_rules! made_of_others {
    ($($(#[$about:meta])+ $name:ident, $text:literal, ($($argument:ident),*) $own:expr;)*) => {$(
        $(#[$about])+
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> isize {
            const NEXT: Following = Following::named($text);
            next_of_another!(NEXT, ($($argument),*)).unwrap_or_else(|| $own)
        }
    )*};
}

made_of_others! {
    /// `sigblock(3)`
    sigblock, c"sigblock", (mask) of_bits(libc::SIG_BLOCK, mask);
    /// `sigsetmask(3)`
    sigsetmask, c"sigsetmask", (mask) of_bits(libc::SIG_SETMASK, mask);
    /// `siggetmask(3)`
    siggetmask, c"siggetmask", () of_bits(libc::SIG_BLOCK, 0);
    /// `sighold(3)`
    sighold, c"sighold", (signal) one(libc::SIG_BLOCK, signal).map_or(-1, |_| 0);
    /// `sigrelse(3)`
    sigrelse, c"sigrelse", (signal) one(libc::SIG_UNBLOCK, signal).map_or(-1, |_| 0);
    /// `sigignore(3)`
    sigignore, c"sigignore", (signal) action(signal, Some(libc::SIG_IGN)).map_or(-1, |_| 0);
    /// `sigset(3)`
    sigset, c"sigset", (signal, function) held_or_handled(signal, function).unwrap_or(-1);
    /// `bsd_signal(3)`
    bsd_signal, c"bsd_signal", (signal, function) handled(signal, function, false);
    /// `ssignal(3)`
    ssignal, c"ssignal", (signal, function) handled(signal, function, false);
    /// `sysv_signal(3)`
    sysv_signal, c"sysv_signal", (signal, function) handled(signal, function, true);
}

/// Changes which of the first signals are blocked; which were.
fn of_bits(how: c_int, mask: usize) -> isize {
    const BITS: u64 = 0xffff_ffff;
    let set = sigmask::set_of(mask as u64 & BITS);
    let mut old = sigmask::set_of(0);
    // SAFETY: two sets.
    match unsafe { masks::of_process(how, &raw const set, &raw mut old) } {
        0 => {
            // SAFETY: one.
            let before = unsafe { sigmask::read(&raw const old) } & BITS;
            cast::int(before as usize) as isize
        }
        result => result as isize,
    }
}

/// Blocks or unblocks one signal; whether it was blocked. `None` where libc has an error.
fn one(how: c_int, signal: usize) -> Option<bool> {
    if !is_signal(signal) {
        sys::set_errno(Errno(libc::EINVAL));
        return None;
    }
    let (set, mut old) = (sigmask::set_of(1 << (signal - 1)), sigmask::set_of(0));
    // SAFETY: two sets.
    let result = unsafe { masks::of_process(how, &raw const set, &raw mut old) };
    // SAFETY: one.
    let before = unsafe { sigmask::read(&raw const old) };
    (result == 0).then_some(before >> (signal - 1) & 1 != 0)
}

/// Whether a signal is a program's: the first ones behind 31 are libc's own.
fn is_signal(signal: usize) -> bool {
    let of_libc = match weak::is_glibc() {
        true => 32..=33,
        false => 32..=34,
    };
    (1..=64).contains(&signal) && !of_libc.contains(&signal)
}

/// Sets what a signal does, if that is to change; what it did.
fn action(signal: usize, function: Option<sighandler_t>) -> Option<isize> {
    // SAFETY: all bits zero are an action.
    let [mut new, mut old]: [libc::sigaction; 2] = unsafe { core::mem::zeroed() };
    new.sa_sigaction = function.unwrap_or(libc::SIG_DFL);
    let new = function.map_or(ptr::null(), |_| &raw const new);
    // SAFETY: two actions.
    let result = unsafe { signals::sigaction(cast::int(signal), new, &raw mut old) };
    (result == 0).then_some(cast::result(old.sa_sigaction))
}

/// What `sigset(3)` does.
fn held_or_handled(signal: usize, function: sighandler_t) -> Option<isize> {
    /// `SIG_HOLD`
    const HOLD: usize = 2;
    let (before, was_held) = match function {
        HOLD => {
            let was_held = one(libc::SIG_BLOCK, signal)?;
            (action(signal, None)?, was_held)
        }
        _ => {
            let before = action(signal, Some(function))?;
            (before, one(libc::SIG_UNBLOCK, signal)?)
        }
    };
    Some(if was_held { cast::result(HOLD) } else { before })
}

/// What `signal(2)` does, by one of its names.
fn handled(signal: usize, function: sighandler_t, once: bool) -> isize {
    // SAFETY: what the program has passed.
    cast::result(unsafe { signals::signal(cast::int(signal), function, once) })
}
