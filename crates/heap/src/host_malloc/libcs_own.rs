//! libc's own blocks, where they stay libc's.
//!
//! libc reads streams and directories into blocks that it takes itself, by system calls
//! that nobody makes again. A process with threads whose writers cannot be kept waiting
//! (`userfaultfd(2)`) moves its memory off pools for a fork all the same, and such a call
//! would fail meanwhile. So before the first thread there (under musl before `main`) libc's
//! own words for malloc are made to say its own: what it takes from then on lies on ordinary memory. It is freed
//! by whoever likes, as any block of another malloc's. Where the buffers of streams lie
//! that are open already, as far as libc lists them, ordinary memory takes the place of
//! pages of a pool.
#![expect(unsafe_code, reason = "changes words of a loaded file")]

use core::ffi::{CStr, c_int};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetlbfs::loader::objects::{self, Object};
use hugetools_pages::config;
use hugetools_pages::extent::stacks::Stack;
use hugetools_pages::migrate::{off_pool, retry};
use hugetools_pages::rt::weak;

use crate::host_malloc::next::next;

/// What makes blocks.
const MAKERS: [&CStr; 4] = [c"malloc", c"calloc", c"memalign", c"aligned_alloc"];

/// What takes them.
const TAKERS: [&CStr; 3] = [c"free", c"realloc", c"malloc_usable_size"];

/// Where libc has these; 0 while all its blocks are ours.
static FOUND: [AtomicUsize; TAKERS.len()] = [const { AtomicUsize::new(0) }; TAKERS.len()];

/// Has it done where and when it is needed: under musl at once, which does not tell of the
/// streams and directories that are open when the first thread comes.
pub(crate) fn watch() {
    retry::set_task(leave_to_libc);
    if !weak::is_glibc() && retry::may_fail_with_threads(config::heap_is_of_pool) {
        leave_to_libc();
    }
}

/// The function of libc's that takes such blocks.
pub(crate) fn taker(name: &CStr) -> Option<usize> {
    let place = TAKERS.iter().position(|taker| *taker == name)?;
    match FOUND[place].load(Ordering::Acquire) {
        0 => None,
        address => Some(address),
    }
}

fn leave_to_libc() {
    with_libc(|libc| {
        if TAKERS
            .iter()
            .chain(&MAKERS[..1])
            .all(|name| is_next(libc, name))
        {
            leave(libc);
        }
        keep_streams(libc);
    });
}

/// Calls `look` with libc, if it has a malloc.
pub(crate) fn with_libc(mut look: impl FnMut(&Object<'_>)) {
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
pub(crate) fn is_next(libc: &Object<'_>, name: &CStr) -> bool {
    let address = libc.address_of(name).unwrap_or(0);
    address != 0 && address == next(name)
}

fn leave(libc: &Object<'_>) {
    for (found, name) in FOUND.iter().zip(TAKERS) {
        found.store(libc.address_of(name).unwrap_or(0), Ordering::Release);
    }
    libc.slots(|at, name| {
        let maker = MAKERS.iter().find(|maker| **maker == name);
        let own = maker.and_then(|name| libc.address_of(name));
        let Some(own) = own.filter(|_| at % size_of::<usize>() == 0) else {
            return;
        };
        // SAFETY: an aligned word that the loader has filled.
        let word = unsafe { AtomicUsize::from_ptr(at as *mut usize) };
        libc.with_writable(at, || word.store(own, Ordering::Release));
    });
}

/// A stream of glibc's (`struct _IO_FILE`), which programs have compiled in.
#[repr(C)]
struct Stream {
    flags: c_int,
    places: [usize; 6],
    buffer: usize,
    buffer_end: usize,
    others: [usize; 4],
    next: *const Stream,
}

/// So many streams are looked at.
const MOST: usize = 4096;

/// Has the buffers of open streams on ordinary memory. musl does not tell of its own.
fn keep_streams(libc: &Object<'_>) {
    let Some(list) = libc.address_of(c"_IO_list_all") else {
        return;
    };
    // SAFETY: the word where glibc's list begins; there is one thread.
    let first = unsafe { (list as *const *const Stream).read() };
    // SAFETY: a stream of that list, or its end.
    let mut next = unsafe { first.as_ref() };
    for _ in 0..MOST {
        let Some(stream) = next else { break };
        let len = stream.buffer_end.saturating_sub(stream.buffer);
        off_pool::keep_ordinary(stream.buffer, len, Stack::Signals);
        // SAFETY: likewise.
        next = unsafe { stream.next.as_ref() };
    }
}
