//! Stacks that the program has in memory of ours. The kernel writes there by
//! itself: the frames of signal handlers, and what libc keeps for each thread at
//! the end of its stack. Such a write cannot wait, so that this memory is to be
//! ordinary before it is a stack.
#![expect(unsafe_code, reason = "reads what the program passes, as libc does")]

use core::ffi::{c_int, c_void};

use hugetools_pages::extent::stacks::Stack;
use hugetools_pages::migrate::off_pool::keep_ordinary;
use hugetools_pages::sys;

use crate::kernel_writes::buffers::{can_be_read, range};
use crate::kernel_writes::copies::copied;
use crate::next::following::Following;

static SIGALTSTACK: Following = Following::named(c"sigaltstack");
static SETSTACK: Following = Following::named(c"pthread_attr_setstack");

/// `sigaltstack`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    type Call = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;
    // What cannot be read is libc's to refuse.
    let told = match can_be_read(&range(new as usize, size_of::<libc::stack_t>())) {
        // SAFETY: as the caller says.
        true => unsafe { new.as_ref() },
        false => None,
    };
    if let Some(new) = told.filter(|new| new.ss_flags & libc::SS_DISABLE == 0) {
        keep_ordinary(new.ss_sp as usize, new.ss_size, Stack::Signals);
    }
    let call = |old: *mut libc::stack_t| match SIGALTSTACK.address() {
        Some(address) => {
            // SAFETY: the address of the function of that name.
            let next = unsafe { core::mem::transmute::<usize, Call>(address) };
            // SAFETY: as the caller says.
            unsafe { next(new, old) }
        }
        None => sys::c_result(sys::sigaltstack(new as usize, old as usize)),
    };
    // SAFETY: as the caller says. What was there before is told once.
    unsafe { copied(old, call) }
}

/// The stack of a coroutine.
pub(super) fn of_coroutine(stack: &libc::stack_t) {
    keep_ordinary(stack.ss_sp as usize, stack.ss_size, Stack::Signals);
}

/// `pthread_attr_setstack`
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn setstack(
    attributes: *mut libc::pthread_attr_t,
    addr: *mut c_void,
    len: usize,
) -> c_int {
    type Call = unsafe extern "C" fn(*mut libc::pthread_attr_t, *mut c_void, usize) -> c_int;
    keep_ordinary(addr as usize, len, Stack::Thread);
    match SETSTACK.address() {
        Some(address) => {
            // SAFETY: the address of the function of that name.
            let next = unsafe { core::mem::transmute::<usize, Call>(address) };
            // SAFETY: as the caller says.
            unsafe { next(attributes, addr, len) }
        }
        None => libc::ENOSYS,
    }
}
