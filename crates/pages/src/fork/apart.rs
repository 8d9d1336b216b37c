//! Forks of a thread that is itself on pages which its child gets a copy of: on
//! a coroutine's stack, in a handler on a stack of the program's, or with such a
//! stack named for handlers.
//!
//! A copy made before the fork would be older than the thread, and pages that a
//! device writes to cannot be shared where the pool has no second one: the
//! kernel copies them at once, and the fork fails. On another stack the thread
//! writes nothing there between its copy and its child. Nor may a page be shared that
//! begins or ends next to where a stack is used, since others may have stacks there.
//!
//! Where no device is at work such a stack leaves its pool before the fork, if there are
//! other threads: one that forks while it shares its pages with a child gets signals, too.
//!
//! What libc keeps for a thread cannot be left so: the kernel writes there by
//! itself (`rseq(2)`), in the child before it runs, and neither waits nor tells. It
//! is on such a page where the program has put a whole thread's stack there. Such a
//! fork fails: that the pool has a page for it just now is no promise for the next
//! moment, and parent or child would die. musl writes to all threads' own memory in
//! the child, with all signals blocked, so that there no such thread may be known.

use core::ffi::c_int;
use core::ops::Range;

use crate::extent::stacks::Stack;
use crate::extent::{index, stacks};
use crate::kernel::dma_users::{self, Writers};
use crate::kernel::facts;
use crate::migrate::off_pool;
use crate::rt::message::{Level, say};
use crate::rt::side_stack::on_own_stack;
use crate::rt::weak;
use crate::sys::{self, Errno, NoSignalStack, PastLimit};
use hugetools_kernfs::size_name::SizeName;

use super::shared;

/// So much do the handlers of all libraries get, and libc; only what they touch
/// is memory.
const SIZE: usize = 1 << 20;

/// What a fork of this thread needs.
enum Need {
    Nothing,
    /// To be on another stack.
    Stack,
    /// What cannot be: libc keeps what it knows of a thread on a page of this size.
    Refusal(usize),
}

/// Runs `fork`, with all that belongs around it, apart from this thread's own
/// stack where that is needed. Its result, or -1 with `errno`, as `fork(2)`.
#[inline]
pub fn apart(fork: impl FnOnce() -> c_int) -> c_int {
    let here = 0_u8;
    let stack = (&raw const here) as usize;
    match need(stack) {
        Need::Nothing => {
            leave_pool(stack);
            fork()
        }
        Need::Stack => on_own_stack(SIZE, || {
            // Back on it this thread could not wait for a page either.
            keep(stack);
            let _none = NoSignalStack::begin();
            fork()
        }),
        Need::Refusal(size) => {
            on_own_stack(SIZE, || refuse(size));
            sys::set_errno(Errno(libc::ENOMEM));
            -1
        }
    }
}

/// The size of a page of a pool on which libc keeps what it writes to in a fork.
fn kept_by_libc() -> Option<usize> {
    let others = || stacks::thread_ends().find_map(page_at);
    let others = (!weak::is_glibc()).then(others).flatten();
    page_at(sys::thread_name()).or(others)
}

/// What is needed where a device may write to this thread's stack, to the one that
/// it has named for handlers, or to what libc keeps for it.
fn need(stack: usize) -> Need {
    let is_met = |range: Range<usize>| {
        [range.start, range.end.saturating_sub(1)]
            .into_iter()
            .find_map(page_at)
    };
    let signals = || sys::signal_stack().and_then(is_met).is_some();
    let is_on_pool = is_met(shared::needed_at(stack)).is_some() || signals();
    let kept = kept_by_libc();
    // Files are read for few forks only.
    if !is_on_pool && kept.is_none() || facts::has_known_filter() {
        return Need::Nothing;
    }
    // Another thread may keep all others from opening files just now.
    let _past_limit = PastLimit::begin();
    let may_write = match dma_users::writers() {
        Writers::None => false,
        Writers::Calls => facts::has_threads(),
        // The child may get a copy then, but the pages can be shared as far as is
        // known.
        Writers::Unknown if is_on_pool => return Need::Stack,
        Writers::Unknown => false,
        Writers::Anytime => true,
    };
    match kept {
        _ if !may_write => Need::Nothing,
        Some(size) => Need::Refusal(size),
        None => Need::Stack,
    }
}

/// Moves what is used of this thread's stack off pools, where there are other threads and
/// it is a block of the heap. While a child shares its page the kernel could not write the
/// frame of a signal there without another one, and would end the process.
fn leave_pool(stack: usize) {
    if page_at(stack).is_none() || !facts::has_threads() || facts::has_known_filter() {
        return;
    }
    let signals = sys::block_signals(!sys::FAULTS);
    on_own_stack(SIZE, || {
        let here = 0_u8;
        // Where there is no other stack it stays.
        if page_at((&raw const here) as usize).is_none() {
            keep(stack);
            let low = stack.saturating_sub(FRAMES);
            let _ = off_pool::step_down(low, stack - low + CALLERS);
        }
    });
    sys::set_blocked_signals(signals);
}

/// So much below where a stack is used has room for frames of signals.
const FRAMES: usize = 16 << 10;

/// So much above it do its callers have, to whom it returns: a coroutine's whole stack, as
/// most programs make them. What lies behind a smaller one only leaves its pool, too.
const CALLERS: usize = 256 << 10;

/// Notes this thread's stack, where it is on memory of ours.
fn keep(stack: usize) {
    if page_at(stack).is_some() {
        stacks::keep(&(stack..stack + 1), Stack::Signals);
    }
}

/// The size of the hugetlb page at an address that a child would inherit.
fn page_at(addr: usize) -> Option<usize> {
    index::look(|| {
        let extent = index::extent_at(addr)?;
        let (state, _) = extent.units()[extent.unit_at(addr)].load_before();
        state.is_hugetlb().then(|| extent.page_size(state))
    })
}

fn refuse(size: usize) {
    say(
        Level::Warning,
        format_args!(
            "fork: fails (ENOMEM), since a thread's stack is a block of the heap on a page of {}, \
             to which a device may write (--heap=thp has no such pages)",
            SizeName(size)
        ),
    );
}
