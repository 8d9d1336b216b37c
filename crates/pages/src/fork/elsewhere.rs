//! Forks whose child begins with a function, on a stack that the program passes, as those
//! by libc's `clone(2)`.
//!
//! That stack may be a block of the heap, which the child has in full only when it has
//! left what it shares with its parent. So libc begins the child on a stack of ours, and
//! what runs there first goes over to the program's.
#![expect(unsafe_code, reason = "takes what was passed to the child")]

use core::ffi::{c_int, c_void};

use super::guard::Guard;
use super::{Descriptors, again_if_refused, apart, child, parent, prepare_for, refused};
use crate::extent::index;
use crate::rt::side_stack::{OwnStack, on_stack};
use crate::rt::weak;
use crate::sys::{self, SignalStack};

/// What a child begins with.
pub type Start = extern "C" fn(*mut c_void) -> c_int;

/// So much has what runs on the stack of ours, libc's beginning among it.
const SIZE: usize = 64 << 10;

/// What both libcs' stacks are multiples of.
const STACK_ALIGN: usize = 16;

/// How a child begins.
#[derive(Debug, Clone, Copy)]
pub struct Child {
    /// The function that it ends with, too.
    pub start: Start,
    /// What that is passed.
    pub argument: *mut c_void,
    /// Where its stack ends, which is used downwards.
    pub stack: usize,
    /// Where the kernel is to write its number in its own memory; or null.
    pub number: *mut c_int,
}

/// A child of the program's, and what the forking thread has changed for the fork.
struct Begun {
    child: Child,
    signals: SignalStack,
}

/// Forks by `call`, which is passed how the child is to begin and which does not return
/// there. Its result, or -1 with `errno`.
pub fn elsewhere(own: Child, call: impl Fn(&Child) -> c_int, descriptors: Descriptors) -> c_int {
    // Within libc's own fork, or without memory, it is the program's clone as it is.
    let is_forking = Guard::of_this_thread().is_some();
    let stack = (!is_forking).then(|| OwnStack::map(SIZE).ok()).flatten();
    let Some(stack) = stack else {
        return call(&own);
    };
    let begun = Begun {
        child: own,
        signals: SignalStack::of_this_thread(),
    };
    let ours = Child {
        start: begin,
        argument: (&raw const begun).cast_mut().cast(),
        stack: stack.top(),
        number: own.number,
    };
    let fork = || {
        prepare_for(descriptors);
        let result = call(&ours);
        parent();
        result
    };
    apart(|| again_if_refused(fork))
}

/// What the child does first.
extern "C" fn begin(begun: *mut c_void) -> c_int {
    child();
    refused::forget_all();
    // SAFETY: what `elsewhere` has passed; the child has its memory by now.
    let Begun { child, signals } = unsafe { &*begun.cast::<Begun>() };
    signals.name_again();
    // Musl passes no such place on.
    if weak::is_glibc() {
        // SAFETY: where the program has asked for it.
        unsafe { note_number(child.number) };
    }
    on_stack(child.stack & !(STACK_ALIGN - 1), || {
        (child.start)(child.argument)
    })
}

/// In a child: where its number is to be (`CLONE_CHILD_SETTID`), if that is anywhere. What
/// the kernel has written there may have been on a page that was not the child's.
///
/// # Safety
/// Nobody else uses the memory there.
pub unsafe fn note_number(number: *mut c_int) {
    let at = number as usize;
    if index::holds(at) && sys::is_readable(&(at..at + size_of::<c_int>())) {
        // SAFETY: a block of the heap, where the program wants that.
        unsafe { number.write_unaligned(sys::cast::int(sys::gettid() as usize)) };
    }
}
