//! Blocks of libc's malloc, for when a control group has no memory to spare for a heap of
//! ours: with them the program needs what it would need without us. They are freed as any
//! other foreign block is.
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{CStr, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::rt::weak;

use hugetlbfs::loader::objects::{self, Object};

use crate::host_malloc::next::next;

/// What is needed of it.
const NAMES: [&CStr; 6] = [
    c"malloc",
    c"calloc",
    c"memalign",
    c"free",
    c"realloc",
    c"malloc_usable_size",
];

/// Where they are: looked up before they are needed, when the loader can be asked.
static FOUND: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// Looks them up; whether they are there: all of them libc's own. Another malloc that
/// stands between may have some only, or call others by names that are ours.
pub(crate) fn find() -> bool {
    let mut all = false;
    with_libc(|libc| {
        let own = NAMES.map(|name| libc.address_of(name).unwrap_or(0));
        // A library that was loaded with `RTLD_DEEPBIND` has libc say our own.
        all = own.iter().all(|&address| libc.contains(address))
            && NAMES.iter().all(|name| is_next(libc, name));
        for (place, own) in FOUND.iter().zip(own).filter(|_| all) {
            place.store(own, Ordering::Release);
        }
    });
    all
}

/// Calls `look` with libc, if it has a malloc.
fn with_libc(mut look: impl FnMut(&Object<'_>)) {
    objects::each(|object| {
        let is_libc = !object.is_program && object.address_of(c"fopen").is_some();
        if !is_libc || object.address_of(c"malloc").is_none() {
            return ControlFlow::Continue(());
        }
        look(object);
        ControlFlow::Break(())
    });
}

/// Whether nothing stands between us and libc, which would be given blocks that it does
/// not know.
fn is_next(libc: &Object<'_>, name: &CStr) -> bool {
    let address = libc.address_of(name).unwrap_or(0);
    address != 0 && address == next(name)
}

/// The function of that name, if they were found.
pub(crate) fn function(name: &CStr) -> Option<usize> {
    let at = NAMES.iter().position(|it| *it == name)?;
    match FOUND[at].load(Ordering::Acquire) {
        0 => None,
        found => Some(found),
    }
}

/// A block, or null.
#[cold]
pub(crate) fn malloc(size: usize) -> *mut c_void {
    type Malloc = extern "C" fn(usize) -> *mut c_void;
    function(c"malloc").map_or(core::ptr::null_mut(), |found| {
        // SAFETY: the address of the function of that name.
        let malloc = unsafe { core::mem::transmute::<usize, Malloc>(found) };
        malloc(size)
    })
}

/// A block of zeros, or null. musl's `calloc` takes it from whatever malloc comes first.
#[cold]
pub(crate) fn zeros(size: usize) -> *mut c_void {
    if weak::is_glibc() {
        return pair(c"calloc", 1, size);
    }
    let block = malloc(size);
    if !block.is_null() {
        // SAFETY: a block of so many bytes.
        unsafe { core::ptr::write_bytes(block.cast::<u8>(), 0, size) };
    }
    block
}

/// An aligned block, or null. musl's function calls whatever `aligned_alloc` comes first:
/// ours.
#[cold]
pub(crate) fn memalign(alignment: usize, size: usize) -> *mut c_void {
    match weak::is_glibc() {
        true => pair(c"memalign", alignment, size),
        false => core::ptr::null_mut(),
    }
}

fn pair(name: &CStr, first: usize, second: usize) -> *mut c_void {
    type Pair = extern "C" fn(usize, usize) -> *mut c_void;
    function(name).map_or(core::ptr::null_mut(), |found| {
        // SAFETY: the address of the function of that name.
        let function = unsafe { core::mem::transmute::<usize, Pair>(found) };
        function(first, second)
    })
}
