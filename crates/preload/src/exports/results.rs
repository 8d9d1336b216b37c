//! The functions of libc by which the kernel hands over something that it then has no
//! more: the end of a child, a connection, a signal, what has happened to descriptors.
//! Made again they would give the next one: see `crate::kernel_writes::copies`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};
use core::ptr;

use libc::{fd_set, id_t, idtype_t, pid_t, rusage, siginfo_t, sigset_t, sockaddr, socklen_t};
use libc::{timespec, timeval};

use super::answers::option_of_socket;
use crate::kernel_writes::copies::{Filled, with_len};
use crate::next::call::{NO_CALL, next};
use crate::signals::masks::with_mask;

/// Waits by `call`, which is given where the status and the use of resources go.
///
/// # Safety
/// As libc's.
unsafe fn waited(
    status: *mut c_int,
    usage: *mut rusage,
    call: impl FnOnce(*mut c_int, *mut rusage) -> pid_t,
) -> pid_t {
    let (mut status, mut usage) = (Filled::value(status), Filled::value(usage));
    let child = call(status.given(), usage.given());
    if child > 0 {
        for filled in [&status, &usage] {
            // SAFETY: as the caller says.
            unsafe { filled.hand_over(usize::MAX) };
        }
    }
    child
}

/// `wait(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait(status: *mut c_int) -> pid_t {
    let call = |status, _| next!(c"wait", fn(*mut c_int) -> pid_t, NO_CALL, (status));
    // SAFETY: as the caller says.
    unsafe { waited(status, ptr::null_mut(), call) }
}

/// `waitpid(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(which: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    let call = |status, _| {
        next!(
            c"waitpid",
            fn(pid_t, *mut c_int, c_int) -> pid_t,
            NO_CALL,
            (which, status, options)
        )
    };
    // SAFETY: as the caller says.
    unsafe { waited(status, ptr::null_mut(), call) }
}

/// `wait3(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t {
    let call = |status, usage| {
        next!(
            c"wait3",
            fn(*mut c_int, c_int, *mut rusage) -> pid_t,
            NO_CALL,
            (status, options, usage)
        )
    };
    // SAFETY: as the caller says.
    unsafe { waited(status, usage, call) }
}

/// `wait4(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait4(
    which: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> pid_t {
    let call = |status, usage| {
        next!(
            c"wait4",
            fn(pid_t, *mut c_int, c_int, *mut rusage) -> pid_t,
            libc::SYS_wait4,
            (which, status, options, usage)
        )
    };
    // SAFETY: as the caller says.
    unsafe { waited(status, usage, call) }
}

/// `waitid(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitid(
    kind: idtype_t,
    which: id_t,
    about: *mut siginfo_t,
    options: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let mut about = unsafe { Filled::value(about).with_contents() };
    let result = next!(
        c"waitid",
        fn(idtype_t, id_t, *mut siginfo_t, c_int) -> c_int,
        NO_CALL,
        (kind, which, about.given::<siginfo_t>(), options)
    );
    if result == 0 {
        // SAFETY: as the caller says.
        unsafe { about.hand_over(usize::MAX) };
    }
    result
}

/// `accept(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(
    socket: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let call = |address, len| {
        next!(
            c"accept",
            fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int,
            NO_CALL,
            (socket, address, len)
        )
    };
    // SAFETY: as the caller says.
    unsafe {
        with_len(address.cast(), len, |address, len| {
            call(address.cast(), len)
        })
    }
}

/// `accept4(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    socket: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let call = |address, len| {
        next!(
            c"accept4",
            fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int,
            libc::SYS_accept4,
            (socket, address, len, flags)
        )
    };
    // SAFETY: as the caller says.
    unsafe {
        with_len(address.cast(), len, |address, len| {
            call(address.cast(), len)
        })
    }
}

/// How long a set is that has so many descriptors: 0 where libc's has no room for them.
fn len_of_set(count: c_int) -> usize {
    let bits = usize::try_from(count).unwrap_or(0);
    let len = bits.div_ceil(u64::BITS as usize) * size_of::<u64>();
    if len <= size_of::<fd_set>() { len } else { 0 }
}

/// Makes a call with copies of the sets that are memory of ours.
///
/// # Safety
/// As libc's.
unsafe fn selected(
    count: c_int,
    sets: [*mut fd_set; 3],
    call: impl FnOnce(*mut fd_set, *mut fd_set, *mut fd_set) -> c_int,
) -> c_int {
    let len = len_of_set(count);
    // SAFETY: as the caller says.
    let mut sets = sets.map(|set| unsafe { Filled::at(set, len).with_contents() });
    let [reads, writes, others] = &mut sets;
    let result = call(reads.given(), writes.given(), others.given());
    if result >= 0 {
        // SAFETY: as the caller says.
        sets.iter().for_each(|set| unsafe { set.hand_over(len) });
    }
    result
}

/// `select(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    let call = |reads, writes, others| {
        next!(
            c"select",
            fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int,
            NO_CALL,
            (count, reads, writes, others, timeout)
        )
    };
    // SAFETY: as the caller says.
    unsafe { selected(count, [reads, writes, others], call) }
}

/// `pselect(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    timeout: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    type Sets = *mut fd_set;
    let with = |signals| {
        let call = |reads, writes, others| {
            next!(
                c"pselect",
                fn(c_int, Sets, Sets, Sets, *const timespec, *const sigset_t) -> c_int,
                NO_CALL,
                (count, reads, writes, others, timeout, signals)
            )
        };
        // SAFETY: as the caller says.
        unsafe { selected(count, [reads, writes, others], call) }
    };
    // SAFETY: as the caller says.
    unsafe { with_mask(signals, with) }
}

/// `getsockopt(2)`, by which an error is told once.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    socket: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let call = |value, len| {
        next!(
            c"getsockopt",
            fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
            NO_CALL,
            (socket, level, name, value, len)
        )
    };
    if (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR) {
        // SAFETY: as the caller says.
        return unsafe { with_len(value, len, call) };
    }
    option_of_socket(value, len, || call(value, len))
}

/// Waits for a signal by `call`, which is given where it is told of.
///
/// # Safety
/// As libc's.
unsafe fn signalled(about: *mut siginfo_t, call: impl FnOnce(*mut siginfo_t) -> c_int) -> c_int {
    // SAFETY: as the caller says.
    let mut about = unsafe { Filled::value(about).with_contents() };
    let signal = call(about.given());
    if signal > 0 {
        // SAFETY: as the caller says.
        unsafe { about.hand_over(usize::MAX) };
    }
    signal
}

/// `sigwaitinfo(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(signals: *const sigset_t, about: *mut siginfo_t) -> c_int {
    let call = |about| {
        next!(
            c"sigwaitinfo",
            fn(*const sigset_t, *mut siginfo_t) -> c_int,
            NO_CALL,
            (signals, about)
        )
    };
    // SAFETY: as the caller says.
    unsafe { signalled(about, call) }
}

/// `sigtimedwait(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    signals: *const sigset_t,
    about: *mut siginfo_t,
    timeout: *const timespec,
) -> c_int {
    let call = |about| {
        next!(
            c"sigtimedwait",
            fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int,
            NO_CALL,
            (signals, about, timeout)
        )
    };
    // SAFETY: as the caller says.
    unsafe { signalled(about, call) }
}
