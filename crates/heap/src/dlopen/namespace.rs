//! Namespaces that the program makes by `dlmopen`: each has a libc of its own,
//! with a malloc of its own, which stays. But blocks of ours may come there: so
//! what frees them or changes their size has a look at whose they are.
#![expect(unsafe_code, reason = "changes tables of loaded files")]

use core::ffi::{c_char, c_int, c_long, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetlbfs::loader::objects::Object;
use hugetlbfs::loader::rebind::{self, Meaning};

use crate::dlopen::glibc::{RTLD_DI_LINKMAP, RTLD_DI_LMID};
use crate::dlopen::plugin::{self, LIBCS};
use crate::dlopen::rebind::remember;
use crate::host_malloc::next::next;

/// The beginning of `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// `Dl_info`
#[repr(C)]
struct Info {
    name: *const c_char,
    start: *const c_void,
    symbol_name: *const c_char,
    symbol: *const c_void,
}

/// How blocks are taken in a namespace.
fn takers<const SPACE: usize>() -> [Meaning; 7] {
    let free = plugin::free::<SPACE> as *const () as usize;
    let realloc = plugin::realloc_kept::<SPACE> as *const () as usize;
    let reallocarray = plugin::reallocarray_kept::<SPACE> as *const () as usize;
    let usable_size = plugin::usable_size::<SPACE> as *const () as usize;
    [
        (c"free", free),
        (c"cfree", free),
        (c"__libc_free", free),
        (c"realloc", realloc),
        (c"__libc_realloc", realloc),
        (c"reallocarray", reallocarray),
        (c"malloc_usable_size", usable_size),
    ]
}

/// The same, by the number of the namespace, which is not 0.
fn takers_of(space: usize) -> Option<[Meaning; 7]> {
    /// One arm for each namespace.
    macro_rules! arms {
        ($($n:literal)*) => {
            match space {
                $($n => Some(takers::<$n>()),)*
                _ => None,
            }
        };
    }
    arms!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

/// Makes sure that blocks of ours can be freed in the namespace of a library.
#[cold]
pub(crate) fn adopt(handle: *mut c_void) {
    let Some(space) = space_of(handle) else {
        return;
    };
    let Some(takers) = takers_of(space) else {
        return;
    };
    let mut before = [[0; 2]; 7];
    each(handle, |object| {
        let [(_, free), ..] = takers;
        let found = object.address_of(c"free");
        if object.own_name() == Some(c"libc.so.6") && found.is_some_and(|found| found != free) {
            before = takers.map(|(name, _)| object.entries_of(name).unwrap_or([0; 2]));
            remember(object, &LIBCS[space]);
            rebind::change(object, &takers);
        }
    });
    // What is loaded there later binds to the changed names by itself.
    if before != [[0; 2]; 7] {
        each(handle, |object| fill(object, &takers, &before));
    }
}

/// Puts new addresses in the place of those before, where an object was bound
/// to them.
fn fill(object: &Object<'_>, takers: &[Meaning], before: &[[usize; 2]]) {
    object.slots(|at, name| {
        let mut meant = takers.iter().zip(before);
        let Some(((_, after), before)) = meant.find(|((taker, _), _)| *taker == name) else {
            return;
        };
        let is_aligned = at % size_of::<usize>() == 0;
        // SAFETY: an aligned word that the loader has filled.
        let word = unsafe { AtomicUsize::from_ptr(at as *mut usize) };
        if is_aligned && before.contains(&word.load(Ordering::Relaxed)) {
            object.with_writable(at, || word.store(*after, Ordering::Release));
        }
    });
}

/// Calls `visit` with each object of a library's namespace.
fn each(handle: *mut c_void, mut visit: impl FnMut(&Object<'_>)) {
    let mut map: *const LinkMap = core::ptr::null();
    if !dlinfo(handle, RTLD_DI_LINKMAP, (&raw mut map).cast()) {
        return;
    }
    // SAFETY: an entry of the loader's list, which the handle keeps loaded.
    while let Some(known) = unsafe { map.as_ref() }.filter(|map| !map.previous.is_null()) {
        map = known.previous;
    }
    // SAFETY: likewise; what is behind it is kept by it, or being loaded.
    while let Some(known) = unsafe { map.as_ref() } {
        if let Some(object) = object_of(known) {
            visit(&object);
        }
        map = known.next;
    }
}

/// What is loaded, by the header of its file.
fn object_of(map: &LinkMap) -> Option<Object<'static>> {
    type Dladdr = unsafe extern "C" fn(*const c_void, *mut Info) -> c_int;
    let dladdr = next(c"dladdr");
    if dladdr == 0 {
        return None;
    }
    let mut info = MaybeUninit::<Info>::zeroed();
    // SAFETY: the address of the function of that name.
    let dladdr = unsafe { core::mem::transmute::<usize, Dladdr>(dladdr) };
    // SAFETY: any address may be asked for.
    if unsafe { dladdr(map.dynamic, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: filled by the call.
    let start = unsafe { info.assume_init() }.start;
    // SAFETY: where a file begins that the loader has mapped.
    unsafe { Object::at(map.base, start as usize) }
}

/// Calls the loader's `dlinfo`; whether it knew an answer.
fn dlinfo(handle: *mut c_void, question: c_int, answer: *mut c_void) -> bool {
    type Dlinfo = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int;
    match next(c"dlinfo") {
        0 => false,
        address => {
            // SAFETY: the address of the function of that name.
            let dlinfo = unsafe { core::mem::transmute::<usize, Dlinfo>(address) };
            // SAFETY: a handle that was just given, and room for the answer.
            unsafe { dlinfo(handle, question, answer) == 0 }
        }
    }
}

/// The number of a library's namespace.
fn space_of(handle: *mut c_void) -> Option<usize> {
    let mut space: c_long = 0;
    let is_known = dlinfo(handle, RTLD_DI_LMID, (&raw mut space).cast());
    usize::try_from(space).ok().filter(|_| is_known)
}
