//! Forks that a program makes by their numbers, past libc's `fork`: new processes
//! that share no memory and go on where they are.
#![expect(unsafe_code, reason = "reads what the program passes")]

use core::ffi::{c_int, c_long};

use hugetools_pages::fork;
use hugetools_pages::sys::cast;

use crate::next::following;
use crate::rt::marker;

/// Whether a call is one.
///
/// # Safety
/// As the system call says.
pub(crate) unsafe fn is_fork(number: c_long, [a, b, ..]: [usize; 6]) -> bool {
    if number == libc::SYS_clone {
        // There the two are the other way round.
        let (flags, stack) = if cfg!(target_arch = "s390x") {
            (b, a)
        } else {
            (a, b)
        };
        return stack == 0 && copies_memory(flags);
    }
    if number == libc::SYS_clone3 {
        let has_stack = b >= size_of::<Arguments>();
        // SAFETY: as the caller says: so many bytes.
        return has_stack && unsafe { of_arguments(a as *const Arguments) };
    }
    #[cfg(any(
        target_arch = "powerpc64",
        target_arch = "s390x",
        target_arch = "x86_64"
    ))]
    if number == libc::SYS_fork {
        return true;
    }
    false
}

/// The first version of what `clone3(2)` takes.
#[repr(C)]
struct Arguments([u64; 8]);

/// # Safety
/// Such arguments, or no address at all.
unsafe fn of_arguments(at: *const Arguments) -> bool {
    // SAFETY: as the caller says.
    let Some(Arguments([flags, _, _, _, _, stack, ..])) = (unsafe { at.as_ref() }) else {
        return false;
    };
    *stack == 0 && usize::try_from(*flags).is_ok_and(copies_memory)
}

fn copies_memory(flags: usize) -> bool {
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_THREAD;
    flags & cast::extended(SHARED) == 0
}

/// Makes it, with all that belongs around a fork.
pub(crate) fn around(call: impl Fn() -> c_long) -> c_long {
    if !marker::is_first() {
        return call();
    }
    following::find_all();
    fork::around(|| c_int::try_from(call()).unwrap_or(-1)).into()
}
