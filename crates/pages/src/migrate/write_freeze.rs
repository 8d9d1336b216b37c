//! Keeping other threads from writing to memory while it is replaced: the
//! memory is write-protected, and a thread that writes all the same waits in a
//! `SIGSEGV` handler until it may.
//!
//! The handler stays once it was needed: a fault that was raised just before
//! the end of a freeze is delivered after it.
#![expect(unsafe_code, reason = "write-protects memory by address")]

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::extent::index;
use crate::fault::{late, sigsegv};
use crate::kernel::facts;
use crate::rt::bell::Bell;
use crate::rt::lock::Lock;
use crate::sys::{self, Result};

/// One freeze at a time.
static TURN: Lock = Lock::new();

static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Rung at the end of each freeze.
static THAWED: Bell = Bell::new();

/// What was frozen last, whoever has it now.
static LAST_START: AtomicUsize = AtomicUsize::new(0);
static LAST_END: AtomicUsize = AtomicUsize::new(0);

/// Runs `replace`, which puts other writable memory with the same contents in
/// the place of the range, while no other thread can write to it. Where it
/// fails the range is writable as before.
///
/// # Safety
/// The range must be memory of ours, mapped readable and writable.
pub unsafe fn frozen<T>(addr: usize, len: usize, replace: impl FnOnce() -> Result<T>) -> Result<T> {
    if !facts::has_threads() {
        return replace();
    }
    let _turn = TURN.lock();
    sigsegv::install(wait);
    END.store(addr + len, Ordering::SeqCst);
    START.store(addr, Ordering::SeqCst);
    // SAFETY: who writes meanwhile waits in the handler.
    let result = match unsafe { sys::mprotect(addr, len, libc::PROT_READ) } {
        Ok(()) => replace(),
        Err(error) => Err(error),
    };
    if result.is_err() {
        // SAFETY: as it was.
        let _ = unsafe { sys::mprotect(addr, len, libc::PROT_READ | libc::PROT_WRITE) };
    }
    LAST_START.store(addr, Ordering::SeqCst);
    LAST_END.store(addr + len, Ordering::SeqCst);
    late::note();
    START.store(0, Ordering::SeqCst);
    END.store(0, Ordering::SeqCst);
    THAWED.ring();
    result
}

/// Whether the fault was a write to frozen memory; returns when it may be
/// tried again.
fn wait(addr: usize) -> bool {
    let is_frozen = || within(&START, &END, addr);
    if is_frozen() {
        THAWED.wait_until(|| !is_frozen());
        return true;
    }
    let was_frozen = || within(&LAST_START, &LAST_END, addr) || is_ours(addr);
    late::generation() > 0 && was_frozen() && late::is_to_be_tried_again(addr)
}

fn within(start: &AtomicUsize, end: &AtomicUsize, addr: usize) -> bool {
    let (start, end) = (start.load(Ordering::SeqCst), end.load(Ordering::SeqCst));
    start != 0 && start <= addr && addr < end
}

/// Whether memory of ours is or was there a moment ago, which only a freeze
/// makes unwritable.
fn is_ours(addr: usize) -> bool {
    index::look(|| {
        index::extent_at(addr).is_some_and(|extent| {
            let (state, _) = extent.units()[extent.unit_at(addr)].load();
            state.is_ours_to_mend()
        })
    })
}

/// In the child of a fork: the thread that froze did not come along, and what it
/// has frozen is as it was. It said so before it took the right to write, and
/// until it had given it back.
pub(crate) fn thaw_in_child() {
    let (start, end) = (START.load(Ordering::SeqCst), END.load(Ordering::SeqCst));
    if start != 0 && start < end {
        // SAFETY: memory of ours, mapped readable and writable but for the freeze.
        let _ = unsafe { sys::mprotect(start, end - start, libc::PROT_READ | libc::PROT_WRITE) };
    }
    START.store(0, Ordering::SeqCst);
    END.store(0, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_wait_and_lose_nothing() {
        const LEN: usize = 8 << 20;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let map = || unsafe { sys::mmap(0, LEN, prot, flags, -1, 0).unwrap() };
        let memory = map();
        let count = || (0..4).map(|i| counter(memory + i * 4096).load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            for i in 0..4 {
                scope.spawn(move || {
                    for _ in 0..200_000 {
                        counter(memory + i * 4096).fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..50 {
                let aside = map();
                // SAFETY: `memory` is ours, and `replace` copies all of it.
                let result = unsafe { frozen(memory, LEN, || move_over(memory, aside, LEN)) };
                assert_eq!(result, Ok(()));
            }
        });
        assert_eq!(count().collect::<Vec<_>>(), [200_000; 4]);
    }

    fn counter(addr: usize) -> &'static AtomicUsize {
        // SAFETY: mapped memory of the test.
        unsafe { &*(addr as *const AtomicUsize) }
    }

    fn move_over(memory: usize, aside: usize, len: usize) -> Result<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: two mappings of the test, of the same length.
        unsafe { core::ptr::copy_nonoverlapping(memory as *const u8, aside as *mut u8, len) };
        // SAFETY: likewise.
        unsafe { sys::mremap(aside, len, len, flags, memory) }.map(drop)
    }
}
