//! Forks that a program makes by their numbers, past libc's `fork`: new processes
//! that share no memory and go on where they are.
#![expect(unsafe_code, reason = "reads what the program passes")]

use core::ffi::{c_int, c_long};

use hugetools_pages::fork::{self, Descriptors};
use hugetools_pages::sys::{self, cast};

use crate::next::following;
use crate::rt::marker;

/// Whether a call is one, and what the child has of open files then.
///
/// # Safety
/// As the system call says.
pub(crate) unsafe fn fork_of(number: c_long, [a, b, ..]: [usize; 6]) -> Option<Descriptors> {
    if number == libc::SYS_clone {
        // There the two are the other way round.
        let (flags, stack) = if cfg!(target_arch = "s390x") {
            (b, a)
        } else {
            (a, b)
        };
        return fork_by(flags, stack == 0);
    }
    if number == libc::SYS_clone3 {
        let has_stack = b >= size_of::<Arguments>();
        // SAFETY: as the caller says: so many bytes.
        let arguments = || unsafe { (a as *const Arguments).as_ref() };
        return has_stack.then(arguments).flatten()?.fork();
    }
    (Some(number) == sys::FORK).then_some(Descriptors::Copied)
}

/// The first version of what `clone3(2)` takes.
#[repr(C)]
struct Arguments([u64; 8]);

impl Arguments {
    fn fork(&self) -> Option<Descriptors> {
        let Arguments([flags, _, _, _, _, stack, ..]) = self;
        fork_by(usize::try_from(*flags).ok()?, *stack == 0)
    }
}

fn fork_by(flags: usize, stays_where_it_is: bool) -> Option<Descriptors> {
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_THREAD;
    let has = |flag: c_int| flags & cast::extended(flag) != 0;
    let descriptors = match has(libc::CLONE_FILES) {
        true => Descriptors::Shared,
        false => Descriptors::Copied,
    };
    (stays_where_it_is && !has(SHARED)).then_some(descriptors)
}

/// Makes it, with all that belongs around a fork.
pub(crate) fn around(call: impl Fn() -> c_long, descriptors: Descriptors) -> c_long {
    if !marker::is_first() {
        return call();
    }
    following::find_all();
    let fork = || c_int::try_from(call()).unwrap_or(-1);
    fork::around(fork, descriptors).into()
}
