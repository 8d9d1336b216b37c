//! Forks that a program makes past libc's `fork`: new processes that share no memory.
//! By their numbers they go on where they are, by `clone` they begin with a function.
//! Those that share it and are no threads are noted, since nothing else tells of them.
#![expect(
    unsafe_code,
    reason = "reads what the program passes, and calls libc's clone"
)]

use core::ffi::{c_int, c_long, c_void};

use hugetools_pages::fork::{self, Child, Descriptors, Start};
use hugetools_pages::kernel::facts;
use hugetools_pages::sys::{self, Errno, cast};

use crate::kernel_writes::buffers::{can_be_read, range};
use crate::next::following::Following;
use crate::process::atfork;
use crate::rt::marker;

/// Where the next one is.
pub(crate) static CLONE: Following = Following::named(c"clone");

/// A fork by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fork {
    /// What the child has of open files.
    descriptors: Descriptors,
    /// Where its number is to be in its memory; or null.
    number: *mut c_int,
}

impl Fork {
    fn of(flags: usize, stays_where_it_is: bool, number: usize) -> Option<Fork> {
        let is_told = flags & cast::extended(libc::CLONE_CHILD_SETTID) != 0;
        Some(Fork {
            descriptors: fork_by(flags, stays_where_it_is)?,
            number: if is_told { number } else { 0 } as *mut c_int,
        })
    }
}

/// Whether a call is one.
///
/// # Safety
/// As the system call says.
pub(crate) unsafe fn fork_of(number: c_long, [a, b, _, d, e, _]: [usize; 6]) -> Option<Fork> {
    if number == libc::SYS_clone {
        // The orders that kernels have for their arguments.
        let (flags, stack, number) = match () {
            () if cfg!(target_arch = "s390x") => (b, a, d),
            () if cfg!(target_arch = "x86_64") => (a, b, d),
            () => (a, b, e),
        };
        return Fork::of(flags, stack == 0, number);
    }
    if number == libc::SYS_clone3 {
        let has_stack = b >= size_of::<Arguments>();
        let is_told = has_stack && can_be_read(&range(a, size_of::<Arguments>()));
        // SAFETY: as the caller says: so many bytes.
        let arguments = || unsafe { (a as *const Arguments).as_ref() };
        return is_told.then(arguments).flatten()?.fork();
    }
    (Some(number) == sys::FORK).then_some(Fork {
        descriptors: Descriptors::Copied,
        number: core::ptr::null_mut(),
    })
}

/// The first version of what `clone3(2)` takes.
#[repr(C)]
struct Arguments([u64; 8]);

impl Arguments {
    fn fork(&self) -> Option<Fork> {
        let Arguments([flags, _, number, _, _, stack, ..]) = self;
        let number = usize::try_from(*number).ok()?;
        Fork::of(usize::try_from(*flags).ok()?, *stack == 0, number)
    }
}

/// Whether one by such flags is a fork, and what the child has of open files then; one that
/// shares memory is noted.
fn fork_by(flags: usize, stays_where_it_is: bool) -> Option<Descriptors> {
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_THREAD;
    let has = |flag: c_int| flags & cast::extended(flag) != 0;
    // Not one that the caller waits for, as `vfork` does: each start of a program would
    // be one.
    if has(libc::CLONE_VM) && !has(libc::CLONE_THREAD | libc::CLONE_VFORK) {
        facts::note_sharing_process();
    }
    let descriptors = match has(libc::CLONE_FILES) {
        true => Descriptors::Shared,
        false => Descriptors::Copied,
    };
    (stays_where_it_is && !has(SHARED)).then_some(descriptors)
}

/// Makes it, with all that belongs around a fork.
pub(crate) fn around(call: impl Fn() -> c_long, made: Fork) -> c_long {
    if !marker::is_first() {
        return call();
    }
    atfork::find_before();
    let fork = || c_int::try_from(call()).unwrap_or(-1);
    let child = fork::around(fork, made.descriptors);
    if child == 0 {
        // SAFETY: where the program has asked for it.
        unsafe { fork::note_number(made.number) };
    }
    child.into()
}

/// What `clone(2)` of libc takes behind its four arguments: where the new number is to be
/// in the parent, what a thread has of its own, and where the number is to be in the child.
pub(crate) type Rest = [*mut c_void; 3];

/// `clone(2)`, as libc has it.
///
/// # Safety
/// As libc's.
pub(crate) unsafe fn clone(
    start: Option<Start>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    rest: Rest,
) -> c_int {
    let Some(address) = CLONE.address() else {
        return sys::c_result(Err(Errno(libc::ENOSYS)));
    };
    let pass_on = |start, stack, argument| {
        // SAFETY: the address of the function of that name; the rest as the caller says.
        unsafe { call(address, start, stack, flags, argument, rest) }
    };
    let is_fork = marker::is_first() && !stack.is_null() && flags & libc::CLONE_SETTLS == 0;
    let descriptors = fork_by(cast::extended(flags), is_fork);
    let (Some(descriptors), Some(own)) = (descriptors, start) else {
        return pass_on(start, stack, argument);
    };
    let number = match flags & libc::CLONE_CHILD_SETTID {
        0 => core::ptr::null_mut(),
        _ => rest[2].cast(),
    };
    let child = Child {
        start: own,
        argument,
        stack: stack as usize,
        number,
    };
    atfork::find_before();
    let begin = |it: &Child| pass_on(Some(it.start), it.stack as *mut c_void, it.argument);
    fork::elsewhere(child, begin, descriptors)
}

/// Calls the function at an address, with what it may or may not look at.
///
/// # Safety
/// It is libc's `clone`.
unsafe fn call(
    address: usize,
    start: Option<Start>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    [parent, own, child]: Rest,
) -> c_int {
    type Clone = unsafe extern "C" fn(Option<Start>, *mut c_void, c_int, *mut c_void, ...) -> c_int;
    // SAFETY: as the caller says.
    let next = unsafe { core::mem::transmute::<usize, Clone>(address) };
    // SAFETY: likewise.
    unsafe { next(start, stack, flags, argument, parent, own, child) }
}
