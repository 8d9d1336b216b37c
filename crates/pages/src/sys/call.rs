//! System call entry and error values.
#![expect(unsafe_code, reason = "makes system calls and reaches errno")]

#[cfg(not(target_arch = "powerpc64"))]
use core::arch::asm;
use core::ffi::{c_int, c_long};
use core::mem::MaybeUninit;

use libc::c_void;

use super::seccomp_filter;
use crate::sys::cast::{int, long, word};

/// An errno value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// Result of a system call.
pub type Result<T> = core::result::Result<T, Errno>;

/// Results from -4095 to -1 are errors.
const LAST_ERRNO: usize = 4095;

/// Makes a system call directly: libc's `syscall` may be interposed (torsocks, libfaketime)
/// and call malloc. Keeps `errno`. Missing arguments are 0.
#[inline]
pub(super) fn call<const N: usize>(number: c_long, args: [usize; N]) -> Result<usize> {
    let args = core::array::from_fn(|at| args.get(at).copied().unwrap_or(0));
    // SAFETY: each wrapper in this folder passes its system call's arguments; the wrapper's
    // caller vouches for the memory.
    let result = unsafe { enter_kernel(word(number), args) };
    match result.wrapping_neg() {
        error @ 1..=LAST_ERRNO => Err(Errno(int(error))),
        _ => Ok(result),
    }
}

/// Direction bits of `ioctl` requests, from the kernel's side: `_IOC_NONE`, `_IOC_WRITE` (the
/// kernel reads the argument), `_IOC_READ` (the kernel writes it). powerpc uses three bits.
pub(super) const NONE: usize = match cfg!(target_arch = "powerpc64") {
    true => 1 << 29,
    false => 0,
};
pub(super) const READS: usize = 1 << 30 << cfg!(target_arch = "powerpc64") as usize;
pub(super) const WRITES: usize = 1 << 31 >> cfg!(target_arch = "powerpc64") as usize;

/// Makes a call to open or inspect files, limits or the program break; `EPERM` under the program's
/// own filter.
pub(super) fn file_call<const N: usize>(number: c_long, args: [usize; N]) -> Result<usize> {
    match seccomp_filter::may_read_files() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Makes a call that neither malloc nor a loader would make; `EPERM` under any filter.
pub(super) fn unfiltered_call<const N: usize>(number: c_long, args: [usize; N]) -> Result<usize> {
    match seccomp_filter::may_make_any_call() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Makes a call that creates an unnamed file; `EPERM` under a filter that may reject it.
pub(super) fn create_call<const N: usize>(number: c_long, args: [usize; N]) -> Result<usize> {
    match seccomp_filter::may_create_memfd() {
        true => call(number, args),
        false => Err(Errno(libc::EPERM)),
    }
}

/// Fails with `EPERM` if a filter is known to reject this call.
pub(super) fn check_filter(call: seccomp_filter::Call) -> Result<()> {
    match seccomp_filter::is_rejected(call) {
        true => Err(Errno(libc::EPERM)),
        false => Ok(()),
    }
}

/// Returns a value that the kernel stores at the address that `fill` gets.
///
/// # Safety
/// All bits zero must be a valid value.
pub(super) unsafe fn filled<T>(fill: impl FnOnce(usize) -> Result<usize>) -> Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    fill(value.as_mut_ptr() as usize)?;
    // SAFETY: upheld by the caller, and the kernel has filled it.
    Ok(unsafe { value.assume_init() })
}

/// Enters the kernel; returns a result or a negative error number.
///
/// # Safety
/// As the system call says.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: upheld by the caller; the kernel changes these registers only.
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

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: upheld by the caller; the kernel changes x0 only.
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

#[cfg(target_arch = "riscv64")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: upheld by the caller; the kernel changes a0 only.
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

#[cfg(target_arch = "s390x")]
#[inline(always)]
unsafe fn enter_kernel(number: usize, args: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = args;
    let result;
    // SAFETY: upheld by the caller; the kernel changes r2 only.
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
    // SAFETY: upheld by the caller; the function changes only call-clobbered registers.
    unsafe { hugetools_enter_kernel(a, b, c, d, e, f, number) }
}

fn errno_at() -> *mut c_int {
    // SAFETY: takes nothing.
    unsafe { libc::__errno_location() }
}

/// Identifies this thread without a system call: the address of its `errno`.
pub fn thread_key() -> usize {
    errno_at() as usize
}

/// Returns this thread's `errno`.
pub fn errno() -> Errno {
    // SAFETY: this thread's errno.
    Errno(unsafe { errno_at().read() })
}

/// Sets `errno`.
pub fn set_errno(error: Errno) {
    // SAFETY: this thread's errno.
    unsafe { errno_at().write(error.0) };
}

/// Makes a system call like libc's `syscall`: sets `errno` and returns -1 on failure.
///
/// # Safety
/// As the system call says.
pub unsafe fn c_syscall(number: c_long, args: [usize; 6]) -> c_long {
    match call(number, args) {
        Ok(result) => long(result),
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Converts a result to C: sets `errno` and returns -1 on failure.
pub fn c_result(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Converts the result of C's `mmap`; the error is in `errno`.
pub fn mmap_result(at: *mut c_void) -> Result<usize> {
    match at {
        libc::MAP_FAILED => Err(errno()),
        at => Ok(at as usize),
    }
}

/// Converts an address to C's `mmap` result.
pub fn c_address(result: Result<usize>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(error) => {
            set_errno(error);
            libc::MAP_FAILED
        }
    }
}
