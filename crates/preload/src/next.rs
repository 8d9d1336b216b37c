//! The next definitions of replaced functions, mostly libc's. Calls that don't concern us go there.
//!
//! They are looked up at the start: a program may call `mmap` inside its own allocator or a signal
//! handler. A missing function becomes a direct system call. `later` looks up the rest at the
//! first call.
//!
//! **Invariants.** An address is that of the next definition in the loader's order; the search of
//! the symbol tables skips other copies of ours. A call leaves `errno` as that function set it.
//!
//! **Locks.** None: each address is one word.
//!
//! **At a fork.** All, those of `later` too, are looked up before the second thread starts: in a
//! forked child the loader's lock may be held for ever.
#![expect(unsafe_code, reason = "looks functions up and calls them")]

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::rt::weak::function;
use hugetools_pages::sys::{self, cast};
use hugetools_pages::{weak_function, word};

use crate::loader::host_malloc;
use crate::loader::objects::{self, Object};
use crate::loader::symbols::{Function, gnu_hash};
use crate::rt::{marker, mem};

pub(crate) mod later;

#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(
    include_str!("rt/word_macros.s"),
    include_str!("words.s"),
    options(raw)
);

word!(hugetools_dlsym);

/// A function by name; address 0 if unknown or missing.
pub(crate) struct Next {
    name: &'static CStr,
    hash: u32,
    address: AtomicUsize,
}

impl Next {
    const fn named(name: &'static CStr) -> Next {
        Next {
            name,
            hash: gnu_hash(name),
            address: AtomicUsize::new(0),
        }
    }

    fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// Looks it up by `dlsym`.
    fn resolve(&self) {
        match dlsym_next(self.name) {
            0 => {}
            address => self.address.store(address, Ordering::Relaxed),
        }
    }
}

static MMAP: Next = Next::named(c"mmap");
static MUNMAP: Next = Next::named(c"munmap");
static MPROTECT: Next = Next::named(c"mprotect");
static MADVISE: Next = Next::named(c"madvise");
static MREMAP: Next = Next::named(c"mremap");
static SHMGET: Next = Next::named(c"shmget");
static SHMAT: Next = Next::named(c"shmat");
static SYSCALL: Next = Next::named(c"syscall");
static SHMDT: Next = Next::named(c"shmdt");
static PKEY_MPROTECT: Next = Next::named(c"pkey_mprotect");
static MLOCK: Next = Next::named(c"mlock");
static MLOCK2: Next = Next::named(c"mlock2");
static MLOCKALL: Next = Next::named(c"mlockall");
static MUNLOCKALL: Next = Next::named(c"munlockall");
static PRCTL: Next = Next::named(c"prctl");
/// Not in [`later`]: each program with our heap calls it at the start.
static REGISTER_ATFORK: Next = Next::named(c"__register_atfork");

/// Returns the address of the next `__register_atfork`; 0 if there is none.
pub(crate) fn register_atfork() -> usize {
    REGISTER_ATFORK.address()
}

/// All functions looked up at the start.
static ALL: [&Next; 16] = [
    &MMAP,
    &MUNMAP,
    &MPROTECT,
    &MADVISE,
    &MREMAP,
    &SHMGET,
    &SHMAT,
    &SYSCALL,
    &SHMDT,
    &PKEY_MPROTECT,
    &MLOCK,
    &MLOCK2,
    &MLOCKALL,
    &MUNLOCKALL,
    &PRCTL,
    &REGISTER_ATFORK,
];

/// Looks all up in one pass over the loader's tables: `dlsym` would take many times as long.
pub(crate) fn find() {
    let mut is_sure = true;
    objects::each_behind_ours(|object| is_sure &= take_from(object, &ALL));
    // libc precedes this library if the program loaded this one by `dlopen`.
    if !is_sure || MMAP.address() == 0 {
        ALL.iter().for_each(|next| next.resolve());
    }
    // A sanitizer's functions would check memory that it hasn't allocated.
    if marker::has_heap() && !host_malloc::has_checker() {
        let [memmove, memset] = [c"memmove", c"memset"].map(dlsym_next);
        // SAFETY: the addresses of the functions of these names.
        unsafe { mem::know_libcs(memmove, memset) };
    }
}

/// Takes missing addresses from an object; returns false if only the loader can resolve one.
fn take_from(object: &Object<'_>, names: &[&Next]) -> bool {
    let Some(tables) = object.tables() else {
        return true;
    };
    let mut is_sure = true;
    for next in names.iter().filter(|next| next.address() == 0) {
        match tables.function(next.name, next.hash) {
            Some(Function::At(address)) => next.address.store(address, Ordering::Relaxed),
            Some(Function::Indirect) => is_sure = false,
            None => {}
        }
    }
    is_sure
}

/// `dlsym(RTLD_NEXT)`: 0 if there is no such function, or no `dlsym`, which before glibc 2.34 needs
/// libdl.
pub fn dlsym_next(name: &CStr) -> usize {
    type Dlsym = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    weak_function!(hugetools_dlsym as Dlsym)
        .map_or(0, |dlsym| dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize)
}

/// Calls the next function, or evaluates the expression after `else`.
macro_rules! call {
    ($next:ident as $type:ty, ($($argument:expr),*), else $otherwise:expr) => {
        // SAFETY: the address of the function of that name and type.
        match unsafe { function::<$type>($next.address()) } {
            // SAFETY: upheld by the caller.
            Some(next) => unsafe { next($($argument),*) },
            None => $otherwise,
        }
    };
}

/// # Safety
/// As for the libc function. This holds for all functions below.
pub(crate) unsafe fn mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    type Mmap =
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;
    call!(MMAP as Mmap, (addr, len, prot, flags, fd, offset), else {
        // SAFETY: upheld by the caller.
        sys::c_address(unsafe {
            sys::mmap(addr as usize, len, prot, flags, fd, cast::word(offset))
        })
    })
}

pub(crate) unsafe fn munmap(addr: *mut c_void, len: usize) -> c_int {
    type Munmap = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    call!(MUNMAP as Munmap, (addr, len), else {
        // SAFETY: upheld by the caller.
        sys::c_result(unsafe { sys::munmap(addr as usize, len) })
    })
}

pub(crate) unsafe fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    type Mprotect = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    call!(MPROTECT as Mprotect, (addr, len, prot), else {
        // SAFETY: upheld by the caller.
        sys::c_result(unsafe { sys::mprotect(addr as usize, len, prot) })
    })
}

pub(crate) unsafe fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    type Madvise = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    call!(MADVISE as Madvise, (addr, len, advice), else {
        // SAFETY: upheld by the caller.
        sys::c_result(unsafe { sys::madvise(addr as usize, len, advice) })
    })
}

pub(crate) unsafe fn mremap(
    addr: *mut c_void,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: *mut c_void,
) -> *mut c_void {
    type Mremap = unsafe extern "C" fn(*mut c_void, usize, usize, c_int, ...) -> *mut c_void;
    call!(MREMAP as Mremap, (addr, old_len, new_len, flags, new_addr), else {
        // SAFETY: upheld by the caller.
        sys::c_address(unsafe {
            sys::mremap(addr as usize, old_len, new_len, flags, new_addr as usize)
        })
    })
}

pub(crate) fn shmget(key: libc::key_t, size: usize, flags: c_int) -> c_int {
    type Shmget = unsafe extern "C" fn(libc::key_t, usize, c_int) -> c_int;
    call!(SHMGET as Shmget, (key, size, flags), else {
        sys::shmget(key, size, flags).unwrap_or_else(|error| sys::c_result(Err(error)))
    })
}

pub(crate) unsafe fn shmat(id: c_int, addr: *const c_void, flags: c_int) -> *mut c_void {
    type Shmat = unsafe extern "C" fn(c_int, *const c_void, c_int) -> *mut c_void;
    call!(SHMAT as Shmat, (id, addr, flags), else {
        sys::c_address(sys::shmat(id, addr as usize, flags))
    })
}

pub(crate) unsafe fn shmdt(addr: *const c_void) -> c_int {
    type Shmdt = unsafe extern "C" fn(*const c_void) -> c_int;
    call!(SHMDT as Shmdt, (addr), else {
        // SAFETY: upheld by the caller.
        sys::c_result(unsafe { sys::shmdt(addr as usize) })
    })
}

pub(crate) unsafe fn pkey_mprotect(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    key: c_int,
) -> c_int {
    type Pkey = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int) -> c_int;
    call!(PKEY_MPROTECT as Pkey, (addr, len, prot, key), else {
        // SAFETY: upheld by the caller.
        sys::c_result(unsafe { sys::pkey_mprotect(addr as usize, len, prot, key) })
    })
}

pub(crate) unsafe fn mlock(addr: *const c_void, len: usize) -> c_int {
    type Mlock = unsafe extern "C" fn(*const c_void, usize) -> c_int;
    call!(MLOCK as Mlock, (addr, len), else {
        sys::c_result(sys::mlock(addr as usize, len))
    })
}

pub(crate) unsafe fn mlock2(addr: *const c_void, len: usize, flags: c_uint) -> c_int {
    type Mlock = unsafe extern "C" fn(*const c_void, usize, c_uint) -> c_int;
    call!(MLOCK2 as Mlock, (addr, len, flags), else {
        sys::c_result(sys::mlock2(addr as usize, len, flags))
    })
}

pub(crate) fn mlockall(flags: c_int) -> c_int {
    type Mlockall = unsafe extern "C" fn(c_int) -> c_int;
    call!(MLOCKALL as Mlockall, (flags), else { sys::c_result(sys::mlockall(flags)) })
}

pub(crate) fn munlockall() -> c_int {
    type Munlockall = unsafe extern "C" fn() -> c_int;
    call!(MUNLOCKALL as Munlockall, (), else { sys::c_result(sys::munlockall()) })
}

pub(crate) unsafe fn syscall(number: c_long, args: [usize; 6]) -> c_long {
    type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
    let [a, b, c, d, e, f] = args;
    call!(SYSCALL as Syscall, (number, a, b, c, d, e, f), else {
        // SAFETY: upheld by the caller.
        unsafe { sys::c_syscall(number, args) }
    })
}

pub(crate) unsafe fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    type Prctl = unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> c_int;
    call!(PRCTL as Prctl, (option, a, b, c, d), else {
        let args = [cast::extended(option), a, b, c, d, 0];
        // SAFETY: upheld by the caller.
        cast::int(cast::word(unsafe { sys::c_syscall(libc::SYS_prctl, args) }))
    })
}
