//! The functions of libc by which the kernel hands over something that it then has no
//! more: the end of a child, a connection, what has happened to descriptors. Made again
//! they would give the next one. So where what they fill is memory of ours the kernel
//! fills a copy.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;

use libc::{fd_set, id_t, idtype_t, pid_t, rusage, siginfo_t, sigset_t, sockaddr, socklen_t};
use libc::{timespec, timeval};

use hugetools_pages::extent::index;

use crate::next::call::{NO_CALL, next};

/// A value that the kernel fills for the program.
struct Filled<T> {
    /// Where the program wants it.
    place: *mut T,
    /// Where the kernel writes, where that is memory of ours.
    copy: MaybeUninit<T>,
    is_ours: bool,
}

impl<T> Filled<T> {
    /// For a place of the program's, which may be null.
    #[inline]
    fn at(place: *mut T) -> Filled<T> {
        Filled {
            place,
            copy: MaybeUninit::uninit(),
            is_ours: index::look(|| index::extent_at(place as usize).is_some()),
        }
    }

    /// The same, with what is there.
    ///
    /// # Safety
    /// Where it is memory of ours it must be readable.
    unsafe fn with(place: *mut T) -> Filled<T> {
        let mut filled = Filled::at(place);
        if filled.is_ours {
            // SAFETY: as the caller says.
            unsafe { ptr::copy_nonoverlapping(place, filled.copy.as_mut_ptr(), 1) };
        }
        filled
    }

    /// What the kernel is given.
    fn given(&mut self) -> *mut T {
        match self.is_ours {
            true => self.copy.as_mut_ptr(),
            false => self.place,
        }
    }

    /// Hands over what the kernel has filled.
    ///
    /// # Safety
    /// It must have, and the place be the program's to write.
    unsafe fn hand_over(&self) {
        if self.is_ours {
            // SAFETY: as the caller says.
            unsafe { ptr::copy_nonoverlapping(self.copy.as_ptr(), self.place, 1) };
        }
    }
}

/// `wait(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait(status: *mut c_int) -> pid_t {
    let mut status = Filled::at(status);
    let child = next!(c"wait", fn(*mut c_int) -> pid_t, NO_CALL, (status.given()));
    if child > 0 {
        // SAFETY: as the caller says.
        unsafe { status.hand_over() };
    }
    child
}

/// `waitpid(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(which: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    let mut status = Filled::at(status);
    let child = next!(
        c"waitpid",
        fn(pid_t, *mut c_int, c_int) -> pid_t,
        NO_CALL,
        (which, status.given(), options)
    );
    if child > 0 {
        // SAFETY: as the caller says.
        unsafe { status.hand_over() };
    }
    child
}

/// `wait3(2)`
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t {
    let (mut status, mut usage) = (Filled::at(status), Filled::at(usage));
    let child = next!(
        c"wait3",
        fn(*mut c_int, c_int, *mut rusage) -> pid_t,
        NO_CALL,
        (status.given(), options, usage.given())
    );
    if child > 0 {
        // SAFETY: as the caller says.
        unsafe { status.hand_over() };
        // SAFETY: likewise.
        unsafe { usage.hand_over() };
    }
    child
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
    let (mut status, mut usage) = (Filled::at(status), Filled::at(usage));
    let child = next!(
        c"wait4",
        fn(pid_t, *mut c_int, c_int, *mut rusage) -> pid_t,
        libc::SYS_wait4,
        (which, status.given(), options, usage.given())
    );
    if child > 0 {
        // SAFETY: as the caller says.
        unsafe { status.hand_over() };
        // SAFETY: likewise.
        unsafe { usage.hand_over() };
    }
    child
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
    // SAFETY: as the caller says; the kernel leaves some of it as it is.
    let mut about = unsafe { Filled::with(about) };
    let result = next!(
        c"waitid",
        fn(idtype_t, id_t, *mut siginfo_t, c_int) -> c_int,
        NO_CALL,
        (kind, which, about.given(), options)
    );
    if result == 0 {
        // SAFETY: as the caller says.
        unsafe { about.hand_over() };
    }
    result
}

/// The longest address of a socket (`struct sockaddr_storage`).
const LONGEST: socklen_t = 128;

/// Takes a connection by `accept`, whose caller is told by an address of that length.
///
/// # Safety
/// As libc's.
unsafe fn accepted(
    address: *mut sockaddr,
    len: *mut socklen_t,
    accept: impl FnOnce(*mut sockaddr, *mut socklen_t) -> c_int,
) -> c_int {
    let is_ours = |addr: usize| index::look(|| index::extent_at(addr).is_some());
    if address.is_null() || len.is_null() || !is_ours(address as usize) && !is_ours(len as usize) {
        return accept(address, len);
    }
    let mut own = [MaybeUninit::<u8>::uninit(); LONGEST as usize];
    // SAFETY: as the caller says.
    let room = unsafe { len.read() };
    if c_int::try_from(room).is_err() {
        return accept(address, len);
    }
    let most = room.min(LONGEST);
    let mut own_len = most;
    let connection = accept(own.as_mut_ptr().cast(), &raw mut own_len);
    if connection >= 0 {
        let written = own_len.min(most) as usize;
        // SAFETY: the kernel has filled so much, and the program has room for it.
        unsafe { ptr::copy_nonoverlapping(own.as_ptr().cast::<u8>(), address.cast(), written) };
        // SAFETY: as the caller says.
        unsafe { len.write(own_len) };
    }
    connection
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
    unsafe { accepted(address, len, call) }
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
    unsafe { accepted(address, len, call) }
}

/// The words of a set of descriptors that so many take; `None` where they are more than
/// a set of libc's has.
fn words_of(count: c_int) -> Option<usize> {
    let words = usize::try_from(count).ok()?.div_ceil(u64::BITS as usize);
    (words * size_of::<u64>() <= size_of::<fd_set>()).then_some(words)
}

/// A set of descriptors that the kernel changes, so many words of which there are.
struct Changed {
    place: *mut fd_set,
    copy: [u64; size_of::<fd_set>() / size_of::<u64>()],
    words: usize,
    is_ours: bool,
}

impl Changed {
    /// # Safety
    /// Where it is memory of ours so much must be there.
    unsafe fn set(place: *mut fd_set, words: Option<usize>) -> Changed {
        let mut set = Changed {
            place,
            copy: [0; size_of::<fd_set>() / size_of::<u64>()],
            words: words.unwrap_or(0),
            is_ours: words.is_some() && index::look(|| index::extent_at(place as usize).is_some()),
        };
        if set.is_ours {
            // SAFETY: as the caller says.
            unsafe { ptr::copy_nonoverlapping(place.cast(), set.copy.as_mut_ptr(), set.words) };
        }
        set
    }

    fn given(&mut self) -> *mut fd_set {
        match self.is_ours {
            true => self.copy.as_mut_ptr().cast(),
            false => self.place,
        }
    }

    /// # Safety
    /// As for [`Changed::set`].
    unsafe fn hand_over(&self) {
        if self.is_ours {
            // SAFETY: as the caller says.
            unsafe { ptr::copy_nonoverlapping(self.copy.as_ptr(), self.place.cast(), self.words) };
        }
    }
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
    let words = words_of(count);
    // SAFETY: as the caller says.
    let mut sets = sets.map(|set| unsafe { Changed::set(set, words) });
    let [reads, writes, others] = &mut sets;
    let result = call(reads.given(), writes.given(), others.given());
    if result >= 0 {
        // SAFETY: as the caller says.
        sets.iter().for_each(|set| unsafe { set.hand_over() });
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
}
