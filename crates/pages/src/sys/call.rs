//! The one way into the kernel, and errors as the kernel and as C have them.
#![expect(unsafe_code, reason = "makes system calls and reaches errno")]

#[cfg(not(target_arch = "powerpc64"))]
use core::arch::asm;
use core::ffi::{c_int, c_long};

use libc::c_void;

use super::seccomp_filter;
use crate::sys::cast::{int, long, word};

/// An errno value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;

/// The largest number that stands for an error: such results are negative.
const LAST_ERRNO: usize = 4095;

/// Runs a system call: directly, since others stand before libc's `syscall`
/// (torsocks, libfaketime) and may call malloc there. `errno` is not touched.
#[inline]
pub(super) fn call(number: c_long, args: [usize; 6]) -> Result<usize> {
    // SAFETY: each wrapper below passes what its system call takes; the caller
    // of a wrapper vouches for the memory that it names.
    let result = unsafe { enter_kernel(word(number), args) };
    match result.wrapping_neg() {
        error @ 1..=LAST_ERRNO => Err(Errno(int(error))),
        _ => Ok(result),
    }
}

/// In the number of a request to `ioctl`: that the kernel only reads what is passed, that it
/// only writes it, and that nothing is passed. On powerpc this takes three bits.
pub(super) const NONE: usize = match cfg!(target_arch = "powerpc64") {
    true => 1 << 29,
    false => 0,
};
pub(super) const READS: usize = 1 << 30 << cfg!(target_arch = "powerpc64") as usize;
pub(super) const WRITES: usize = 1 << 31 >> cfg!(target_arch = "powerpc64") as usize;

/// Any system call, for one that a program asks for.
///
/// # Errors
/// As the call.
///
/// # Safety
/// As the call says.
pub unsafe fn any_call(number: c_long, args: [usize; 6]) -> Result<usize> {
    call(number, args)
}

/// Runs a system call that reads files, where one may be made; see
/// [`super::seccomp_filter`].
pub(super) fn look(number: c_long, args: [usize; 6]) -> Result<usize> {
    match seccomp_filter::may_read() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Runs a system call that a program would not expect of its malloc, where one
/// may be made; see [`super::seccomp_filter`].
pub(super) fn ask(number: c_long, args: [usize; 6]) -> Result<usize> {
    match seccomp_filter::may_ask() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Runs a system call that makes a file without a name, where one may be made; see
/// [`super::seccomp_filter`].
pub(super) fn make_file(number: c_long, args: [usize; 6]) -> Result<usize> {
    match seccomp_filter::may_make_files() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Whether a call may be made that malloc makes, too.
pub(super) fn pass(call: seccomp_filter::Call) -> Result<()> {
    match seccomp_filter::is_barred(call) {
        true => Err(Errno(libc::EPERM)),
        false => Ok(()),
    }
}

/// What the kernel returns: a result, or a negative error number.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: as the caller says; the kernel changes these registers only.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack, preserves_flags),
        );
    }
    result
}

/// As above.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: as the caller says; the kernel changes x0 only.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack, preserves_flags),
        );
    }
    result
}

/// As above.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: as the caller says; the kernel changes a0 only.
    unsafe {
        asm!(
            "ecall",
            in("a7") number,
            inlateout("a0") a => result,
            in("a1") b, in("a2") c, in("a3") d, in("a4") e, in("a5") f,
            options(nostack, preserves_flags),
        );
    }
    result
}

/// As above.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "s390x")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: as the caller says; the kernel changes r2 only.
    unsafe {
        asm!(
            "svc 0",
            in("r1") number,
            inlateout("r2") a => result,
            in("r3") b, in("r4") c, in("r5") d, in("r6") e, in("r7") f,
            options(nostack, preserves_flags),
        );
    }
    result
}

/// As above.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "powerpc64")]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    unsafe extern "C" {
        /// In `powerpc64le.s`.
        fn hugetools_enter_kernel(
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
            f: usize,
            number: usize,
        ) -> usize;
    }
    let [a, b, c, d, e, f] = args;
    // SAFETY: as the caller says; what the kernel changes besides, a function may.
    unsafe { hugetools_enter_kernel(a, b, c, d, e, f, number) }
}

/// Where this thread's `errno` is.
fn errno_at() -> *mut c_int {
    // SAFETY: takes nothing.
    unsafe { libc::__errno_location() }
}

/// A number that tells this thread from others: where its `errno` is.
pub fn thread_name() -> usize {
    errno_at() as usize
}

/// This thread's `errno`, after a call of libc's that failed.
pub fn errno() -> Errno {
    // SAFETY: this thread's errno.
    Errno(unsafe { errno_at().read() })
}

/// Sets `errno`, for calls that fail as the program's own.
pub fn set_errno(error: Errno) {
    // SAFETY: this thread's errno.
    unsafe { errno_at().write(error.0) };
}

/// Runs a system call as libc's `syscall` does: `errno` set, and −1.
///
/// # Safety
/// As the system call says.
pub unsafe fn as_libc(number: c_long, args: [usize; 6]) -> c_long {
    match call(number, args) {
        Ok(result) => long(result),
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// The result of an interposed call, as C has it: `errno` set, and −1.
pub fn c_result(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// What a `mmap` of C's has come to; its error is in `errno`.
pub fn address(at: *mut c_void) -> Result<usize> {
    match at {
        libc::MAP_FAILED => Err(errno()),
        at => Ok(at as usize),
    }
}

/// The address of an interposed `mmap`, as C has it.
pub fn c_address(result: Result<usize>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(error) => {
            set_errno(error);
            libc::MAP_FAILED
        }
    }
}
