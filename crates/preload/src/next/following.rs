//! Functions that ours stand before and that are looked up when the first of them
//! is called, in the loader's own tables: no lock is taken that a constructor may
//! hold, and nothing is done for a program that calls none. Before the first thread all are
//! looked up: a lock that a callback of `dl_iterate_phdr` may hold is taken.
#![expect(unsafe_code, reason = "names in one text, known when it is compiled")]

use core::cell::LazyCell;
use core::ffi::CStr;
use core::ops::{ControlFlow, Range};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::loader::objects::{self, Object};
use crate::loader::symbols::gnu_hash;
use crate::loader::{lock, unlocked};

mod seldom;

/// The names of those that are looked up together.
const OFTEN: [&CStr; 86] = [
    c"read",
    c"__read_chk",
    c"pread",
    c"pread64",
    c"__pread_chk",
    c"__pread64_chk",
    c"readv",
    c"preadv",
    c"preadv64",
    c"recv",
    c"__recv_chk",
    c"recvfrom",
    c"__recvfrom_chk",
    c"recvmsg",
    c"recvmmsg",
    c"mq_receive",
    c"mq_timedreceive",
    c"msgrcv",
    c"getrandom",
    c"epoll_wait",
    c"stat",
    c"stat64",
    c"lstat",
    c"lstat64",
    c"fstat",
    c"fstat64",
    c"fstatat",
    c"fstatat64",
    c"statx",
    c"readlink",
    c"readlinkat",
    c"getcwd",
    c"poll",
    c"ppoll",
    c"fread",
    c"fread_unlocked",
    c"__fread_chk",
    c"__fread_unlocked_chk",
    c"ferror",
    c"ferror_unlocked",
    c"clearerr",
    c"clearerr_unlocked",
    c"wait",
    c"waitpid",
    c"wait3",
    c"wait4",
    c"waitid",
    c"accept",
    c"accept4",
    c"select",
    c"pselect",
    c"getsockopt",
    c"ioctl",
    c"getsockname",
    c"getpeername",
    c"pipe",
    c"pipe2",
    c"socketpair",
    c"sigwaitinfo",
    c"sigtimedwait",
    c"sigaltstack",
    c"pthread_attr_setstack",
    c"makecontext",
    c"pthread_attr_getstack",
    c"pthread_attr_getstacksize",
    c"pthread_attr_getguardsize",
    c"pthread_getattr_default_np",
    c"pthread_self",
    c"pthread_create",
    c"thrd_create",
    c"pthread_sigmask",
    c"sigprocmask",
    c"sigsuspend",
    c"__register_atfork",
    c"pthread_atfork",
    c"_Fork",
    c"fork",
    c"exit",
    c"_exit",
    c"_Exit",
    c"execve",
    c"execv",
    c"execvp",
    c"execvpe",
    c"sbrk",
    c"__sbrk",
];

/// All names.
const NAMES: [&CStr; OFTEN.len() + seldom::NAMES.len()] = {
    let mut names = [c""; OFTEN.len() + seldom::NAMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at < OFTEN.len() {
            true => OFTEN[at],
            false => seldom::NAMES[at - OFTEN.len()],
        };
        at += 1;
    }
    names
};

/// How long they are, with what ends them.
const LEN: usize = {
    let (mut len, mut at) = (0, 0);
    while at < NAMES.len() {
        len += NAMES[at].to_bytes_with_nul().len();
        at += 1;
    }
    len
};

/// All of them in one, in which the loader has no address to mend at each start.
static TEXT: [u8; LEN] = {
    let (mut text, mut to, mut at) = ([0; LEN], 0, 0);
    while at < NAMES.len() {
        let name = NAMES[at].to_bytes_with_nul();
        let mut from = 0;
        while from < name.len() {
            text[to] = name[from];
            (to, from) = (to + 1, from + 1);
        }
        at += 1;
    }
    text
};

/// Where each begins there, and the last one ends.
static STARTS: [u16; NAMES.len() + 1] = {
    assert!(LEN < u16::MAX as usize, "places are halves of a word");
    let (mut starts, mut at) = ([0; NAMES.len() + 1], 0);
    while at < NAMES.len() {
        #[expect(clippy::cast_possible_truncation, reason = "shorter than the whole")]
        let len = NAMES[at].to_bytes_with_nul().len() as u16;
        starts[at + 1] = starts[at] + len;
        at += 1;
    }
    starts
};

/// The name at a place.
fn name(at: usize) -> &'static CStr {
    let [start, end] = [STARTS[at], STARTS[at + 1]].map(usize::from);
    // SAFETY: one name, with what ends it.
    unsafe { CStr::from_bytes_with_nul_unchecked(&TEXT[start..end]) }
}

/// Their hashes, as the tables have them.
static HASHES: [u32; NAMES.len()] = {
    let mut hashes = [0; NAMES.len()];
    let mut at = 0;
    while at < NAMES.len() {
        hashes[at] = gnu_hash(NAMES[at]);
        at += 1;
    }
    hashes
};

/// Where they are, as far as that is for good; 0 until that was looked up.
static ADDRESSES: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// In there: nobody had it that stays until the process ends.
const NOBODY: usize = 1;

/// Of which of them that is not libc's, but another library's.
static OTHERS: [AtomicBool; NAMES.len()] = [const { AtomicBool::new(false) }; NAMES.len()];

/// A function, by the place of its name.
#[derive(Debug)]
pub(crate) struct Following(usize);

impl Following {
    /// The function of a name that is listed.
    pub(crate) const fn named(name: &CStr) -> Following {
        let mut at = 0;
        while !is_same(NAMES[at].to_bytes(), name.to_bytes()) {
            at += 1;
        }
        Following(at)
    }

    /// Where it is; `None` where nobody but this library has it, as far as can be told.
    #[inline]
    pub(crate) fn address(&self) -> Option<usize> {
        match ADDRESSES[self.0].load(Ordering::Relaxed) {
            0 => self.look_up(),
            NOBODY => self.look_again(),
            address => Some(address),
        }
    }

    /// The same where it is another library's than libc: of a name that no standard
    /// reserves that may be a function of the program's own, with arguments of its own.
    pub(crate) fn of_another(&self) -> Option<usize> {
        let address = self.address();
        address.filter(|_| OTHERS[self.0].load(Ordering::Relaxed))
    }

    #[cold]
    fn look_up(&self) -> Option<usize> {
        let known = || Some(ADDRESSES[self.0].load(Ordering::Relaxed)).filter(|known| *known != 0);
        if self.0 < OFTEN.len() {
            find_together();
        }
        match known() {
            // Only this one: to look for all costs more than most programs' beginning.
            None | Some(NOBODY) => self.look_again(),
            address => address,
        }
    }

    /// A library that was loaded later may have it, and may go again: it is looked for at
    /// each call, in a child where the list may be locked for ever without its lock. Who
    /// calls a function that nobody had at the start must hold no lock for which a callback
    /// of `dl_iterate_phdr` waits.
    #[cold]
    fn look_again(&self) -> Option<usize> {
        find(self.0)
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Looks up those of them together that were not yet, once.
fn find_together() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Acquire) {
        objects::each_behind_ours(|object| take_from(object, 0..OFTEN.len()));
        DONE.store(true, Ordering::Release);
    }
}

/// Looks all of them up that were not yet, once: before a fork of which libc
/// knows nothing, since in the child the loader's list may be locked for ever, by
/// a thread that was in `dlopen` and is not there.
pub(crate) fn find_all() {
    if !ALL_DONE.load(Ordering::Acquire) {
        find_all_anew();
    }
}

/// Whether all were looked up.
static ALL_DONE: AtomicBool = AtomicBool::new(false);

/// The same before the first thread, also of those that nobody had.
pub(crate) fn find_all_anew() {
    objects::each_behind_ours(|object| take_from(object, 0..NAMES.len()));
    // Where the program has loaded this library by itself libc is not behind it.
    objects::each(|object| {
        if !object.is_ours() && !object.is_a_copy() {
            take_from(object, 0..NAMES.len());
        }
        ControlFlow::Continue(())
    });
    for address in &ADDRESSES {
        let _ = address.compare_exchange(0, NOBODY, Ordering::Relaxed, Ordering::Relaxed);
    }
    ALL_DONE.store(true, Ordering::Release);
}

/// Notes what an object has of them that stays, where none before it did.
fn take_from(object: &Object<'_>, which: Range<usize>) {
    let Some(tables) = object.tables().filter(|_| object.stays()) else {
        return;
    };
    let is_of_libc = LazyCell::new(|| object.is_of_libc());
    for at in which {
        let address = &ADDRESSES[at];
        if address.load(Ordering::Relaxed) > NOBODY {
            continue;
        }
        // Of those that are looked up together all versions do the same.
        let found = match at < OFTEN.len() {
            true => tables.address_by_hash(name(at), HASHES[at]),
            false => tables.address_in_force(name(at), HASHES[at]),
        };
        if let Some(found) = found {
            OTHERS[at].store(!*is_of_libc, Ordering::Relaxed);
            address.store(found, Ordering::Relaxed);
        }
    }
}

/// The first one behind this library in the loader's order, or else the first.
/// Not that of another copy of ours, which would look for the next one in turn:
/// of a name that libc has not, two copies would call each other for ever.
fn find(at: usize) -> Option<usize> {
    let (mut first, mut behind) = (None, None);
    let mut passed = false;
    let address = |object: &Object<'_>| object.tables()?.address_in_force(name(at), HASHES[at]);
    let visit = |object: &Object<'_>| {
        if object.is_ours() {
            passed = true;
        } else if let Some(address) = address(object).filter(|_| !object.is_a_copy()) {
            let found = (address, object.stays(), !object.is_of_libc());
            first = first.or(Some(found));
            behind = behind.or(passed.then_some(found));
        }
        match behind {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    match lock::may_be_left() {
        true => unlocked::each(visit),
        false => objects::each(visit),
    }
    let (address, stays, is_of_another) = behind.or(first)?;
    OTHERS[at].store(is_of_another, Ordering::Relaxed);
    if stays {
        ADDRESSES[at].store(address, Ordering::Relaxed);
    }
    Some(address)
}
