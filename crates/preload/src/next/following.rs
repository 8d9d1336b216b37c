//! Functions that ours stand before and that are looked up when the first of them
//! is called, in the loader's own tables: no lock is taken that a constructor may
//! hold, and nothing is done for a program that calls none.

use core::ffi::CStr;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::loader::objects::{self, Object};
use crate::loader::symbols::gnu_hash;

/// Their names.
const NAMES: [&CStr; 86] = [
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
    c"clearerr",
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
    c"execveat",
    c"fexecve",
    c"sbrk",
    c"__sbrk",
];

/// Their hashes, as the tables have them.
const HASHES: [u32; NAMES.len()] = {
    let mut hashes = [0; NAMES.len()];
    let mut at = 0;
    while at < NAMES.len() {
        hashes[at] = gnu_hash(NAMES[at]);
        at += 1;
    }
    hashes
};

/// Where they are; 0 until that was looked up.
static ADDRESSES: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

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

    /// Where it is; `None` where nobody but this library has it.
    #[inline]
    pub(crate) fn address(&self) -> Option<usize> {
        match ADDRESSES[self.0].load(Ordering::Relaxed) {
            0 => self.look_up(),
            address => Some(address),
        }
    }

    #[cold]
    fn look_up(&self) -> Option<usize> {
        find_all();
        let address = &ADDRESSES[self.0];
        match address.load(Ordering::Relaxed) {
            // Where there is none there may be one later.
            0 => {
                let found = find(NAMES[self.0])?;
                address.store(found, Ordering::Relaxed);
                Some(found)
            }
            found => Some(found),
        }
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Looks all of them up that were not yet, once: also before a fork of which libc
/// knows nothing, since in the child the loader's list may be locked for ever, by
/// a thread that was in `dlopen` and is not there.
pub(crate) fn find_all() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::AcqRel) {
        return;
    }
    objects::each_behind_ours(take_from);
}

/// Notes what an object has of them, where none before it did.
fn take_from(object: &Object<'_>) {
    let Some(tables) = object.tables() else {
        return;
    };
    for ((name, hash), address) in NAMES.iter().zip(HASHES).zip(&ADDRESSES) {
        if address.load(Ordering::Relaxed) == 0 {
            if let Some(found) = tables.address_by_hash(name, hash) {
                address.store(found, Ordering::Relaxed);
            }
        }
    }
}

/// The first one behind this library in the loader's order, or else the first.
/// Not that of another copy of ours, which would look for the next one in turn:
/// of a name that libc has not, two copies would call each other for ever.
fn find(name: &CStr) -> Option<usize> {
    let (mut first, mut behind) = (None, None);
    let mut passed = false;
    objects::each(|object| {
        if object.is_ours() {
            passed = true;
        } else if let Some(address) = object.address_of(name).filter(|_| !object.is_a_copy()) {
            first = first.or(Some(address));
            behind = behind.or(passed.then_some(address));
        }
        match behind {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    behind.or(first)
}
