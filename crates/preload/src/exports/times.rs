//! The functions of libc about timers, and what is left of a time: see
//! `crate::kernel_writes::buffers`. What a timer was set to before, and the rest of a
//! pause, is told once: see `copies`. `clock_gettime(2)` is not among them: it mostly
//! asks no kernel.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};

use hugetools_pages::extent::index;
use hugetools_pages::sys::{self, Errno};
use libc::{itimerspec, itimerval, sigset_t, timespec};

use crate::kernel_writes::buffers::{one, range};
use crate::kernel_writes::copies::{Filled, copied};
use crate::kernel_writes::tables::made_again;
use crate::next::call::{NO_CALL, next};

/// The signals that the kernel knows of.
const SIGNALS: usize = 8;

made_again! {
    /// `getitimer(2)`
    getitimer, c"getitimer", (which: c_int, now: *mut itimerval) -> c_int, NO_CALL, [one(now)];
    /// `timer_gettime(2)`
    timer_gettime, c"timer_gettime", (timer: usize, now: *mut itimerspec) -> c_int,
        NO_CALL, [one(now)];
    /// `timerfd_gettime(2)`
    timerfd_gettime, c"timerfd_gettime", (timer: c_int, now: *mut itimerspec) -> c_int,
        NO_CALL, [one(now)];
    /// `clock_getres(2)`
    clock_getres, c"clock_getres", (clock: c_int, step: *mut timespec) -> c_int,
        NO_CALL, [one(step)];
    /// `sigpending(2)`
    sigpending, c"sigpending", (signals: *mut sigset_t) -> c_int,
        NO_CALL, [range(signals as usize, SIGNALS)];
}

/// `setitimer(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setitimer(
    which: c_int,
    new: *const itimerval,
    old: *mut itimerval,
) -> c_int {
    let call = |old| {
        next!(
            c"setitimer",
            fn(c_int, *const itimerval, *mut itimerval) -> c_int,
            NO_CALL,
            (which, new, old)
        )
    };
    // SAFETY: as the caller says.
    unsafe { copied(old, call) }
}

/// `timer_settime(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_settime(
    timer: usize,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    let call = |old| {
        next!(
            c"timer_settime",
            fn(usize, c_int, *const itimerspec, *mut itimerspec) -> c_int,
            NO_CALL,
            (timer, flags, new, old)
        )
    };
    // SAFETY: as the caller says.
    unsafe { copied(old, call) }
}

/// `timerfd_settime(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_settime(
    timer: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    let call = |old| {
        next!(
            c"timerfd_settime",
            fn(c_int, c_int, *const itimerspec, *mut itimerspec) -> c_int,
            NO_CALL,
            (timer, flags, new, old)
        )
    };
    // SAFETY: as the caller says.
    unsafe { copied(old, call) }
}

/// Pauses by `call`, which is given where the rest goes, and gives `interrupted` where
/// there is one.
///
/// # Safety
/// As libc's.
unsafe fn paused(
    rest: *mut timespec,
    interrupted: c_int,
    call: impl FnOnce(*mut timespec) -> c_int,
) -> c_int {
    if rest.is_null() {
        return call(rest);
    }
    // SAFETY: as the caller says.
    let mut filled = unsafe { Filled::value(rest).with_contents() };
    let result = call(filled.given());
    if result == interrupted && (result > 0 || sys::errno() == Errno(libc::EINTR)) {
        // SAFETY: as the caller says.
        unsafe { filled.hand_over(usize::MAX) };
    }
    result
}

/// `nanosleep(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int {
    let call = |rest| {
        next!(
            c"nanosleep",
            fn(*const timespec, *mut timespec) -> c_int,
            NO_CALL,
            (time, rest)
        )
    };
    // SAFETY: as the caller says.
    unsafe { paused(rest, -1, call) }
}

/// `clock_nanosleep(2)`, which gives the number of an error.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    let call = |rest| {
        next!(
            c"clock_nanosleep",
            fn(c_int, c_int, *const timespec, *mut timespec) -> c_int,
            NO_CALL,
            (clock, flags, time, rest)
        )
    };
    // SAFETY: as the caller says.
    unsafe { paused(rest, libc::EINTR, call) }
}

/// `thrd_sleep(3)`, which gives -1 where a signal has ended it.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int {
    let call = |rest| {
        next!(
            c"thrd_sleep",
            fn(*const timespec, *mut timespec) -> c_int,
            NO_CALL,
            (time, rest)
        )
    };
    if rest.is_null() {
        return call(rest);
    }
    // SAFETY: as the caller says.
    let mut filled = unsafe { Filled::value(rest).with_contents() };
    let result = call(filled.given());
    if result == -1 {
        // SAFETY: as the caller says.
        unsafe { filled.hand_over(usize::MAX) };
    }
    result
}

/// `times(2)`, which glibc has give no error where its buffer cannot be written.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times(used: *mut [i64; 4]) -> isize {
    let mut filled = Filled::value(used);
    let result = next!(
        c"times",
        fn(*mut [i64; 4]) -> isize,
        NO_CALL,
        (filled.given::<[i64; 4]>())
    );
    if result != -1 {
        // SAFETY: as the caller says.
        unsafe { filled.hand_over(usize::MAX) };
    }
    result
}

/// `struct timex`, the same on all machines.
type Timex = [u64; 26];

/// Makes a call that changes a clock and tells of it.
///
/// # Safety
/// As libc's.
unsafe fn adjusted(about: *mut Timex, call: impl FnOnce(*mut Timex) -> c_int) -> c_int {
    if !index::holds(about as usize) {
        return call(about);
    }
    // SAFETY: as the caller says.
    let mut copy = unsafe { about.read_unaligned() };
    let state = call(&raw mut copy);
    if state >= 0 {
        // SAFETY: as the caller says.
        unsafe { about.write_unaligned(copy) };
    }
    state
}

/// `adjtimex(2)`, by its names.
macro_rules! adjtimex_as {
    ($name:ident, $text:literal $(, $clock:ident)?) => {
        /// `adjtimex(2)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($clock: c_int,)? about: *mut c_void) -> c_int {
            let call = |about| adjtimex_as!(@ $text $(, $clock)?, about);
            // SAFETY: as the caller says.
            unsafe { adjusted(about.cast(), call) }
        }
    };
    (@ $text:literal, $about:ident) => {
        next!($text, fn(*mut Timex) -> c_int, NO_CALL, ($about))
    };
    (@ $text:literal, $clock:ident, $about:ident) => {
        next!($text, fn(c_int, *mut Timex) -> c_int, NO_CALL, ($clock, $about))
    };
}

adjtimex_as!(adjtimex, c"adjtimex");
adjtimex_as!(ntp_adjtime, c"ntp_adjtime");
adjtimex_as!(clock_adjtime, c"clock_adjtime", clock);
