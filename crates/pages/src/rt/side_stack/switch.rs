//! Changing to another stack and back.
//!
//! The change is a function of its own with a frame pointer and a description
//! of its frame, so that debuggers and profilers find the way back; it calls and
//! returns in pairs, so that a shadow stack stays in step.
#![expect(unsafe_code, reason = "maps a stack, and calls a function on it")]

#[cfg(not(target_arch = "powerpc64"))]
use core::arch::global_asm;
use core::ffi::c_void;

use crate::sys::{self, Result};

/// A stack above a page that nobody can touch; unmapped when it is dropped.
#[derive(Debug)]
pub struct OwnStack {
    base: usize,
    size: usize,
}

impl OwnStack {
    /// Maps one of so many bytes.
    ///
    /// # Errors
    /// Where there is no memory for it, or no mapping left.
    pub fn map(size: usize) -> Result<OwnStack> {
        let guard = sys::page_size();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping replaces nothing.
        let at = unsafe { sys::mmap(0, guard + size, libc::PROT_NONE, flags, -1, 0)? };
        let stack = OwnStack {
            base: at + guard,
            size,
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: mapped just now.
        unsafe { sys::mprotect(stack.base, size, access) }?;
        sys::tell_valgrind(&(stack.base..stack.top()));
        Ok(stack)
    }

    /// Where it ends: it is used from there downwards.
    pub fn top(&self) -> usize {
        self.base + self.size
    }

    /// Keeps it for good; its lowest address.
    pub fn keep(self) -> usize {
        core::mem::ManuallyDrop::new(self).base
    }
}

impl Drop for OwnStack {
    fn drop(&mut self) {
        let guard = sys::page_size();
        // SAFETY: mapped by `map`; who was on it has come back.
        let _ = unsafe { sys::munmap(self.base - guard, guard + self.size) };
    }
}

/// Runs `work` on the stack that ends at `top`.
pub(super) fn run_on<R, F: FnOnce() -> R>(top: usize, work: F) -> R {
    let mut job = Job {
        work: Some(work),
        result: None,
    };
    let at = core::ptr::from_mut(&mut job).cast::<c_void>();
    // SAFETY: the end of a stack that nobody else uses, and the function that
    // takes what lies at `at`.
    unsafe { hugetools_run_on(top, run::<R, F>, at) };
    match job.result {
        Some(result) => result,
        // It always runs: nothing here unwinds.
        None => unreachable!("the work always runs"),
    }
}

/// What is to be done, and what came of it.
struct Job<R, F> {
    work: Option<F>,
    result: Option<R>,
}

/// # Safety
/// `job` must be a [`Job`] of these types.
unsafe extern "C" fn run<R, F: FnOnce() -> R>(job: *mut c_void) {
    // SAFETY: as the caller says.
    let job = unsafe { &mut *job.cast::<Job<R, F>>() };
    job.result = job.work.take().map(|work| work());
}

unsafe extern "C" {
    /// Calls `function` with `argument` on the stack that ends at `top`.
    fn hugetools_run_on(
        top: usize,
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
}

/// Defines `hugetools_run_on` by these lines. (For powerpc64 see `powerpc64le.s`.)
#[cfg(not(target_arch = "powerpc64"))]
macro_rules! run_on {
    ($($line:literal,)*) => {
        global_asm!(
            ".pushsection .text.hugetools_run_on,\"ax\",@progbits",
            ".balign 16",
            ".globl hugetools_run_on",
            ".hidden hugetools_run_on",
            ".type hugetools_run_on,@function",
            "hugetools_run_on:",
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
            ".size hugetools_run_on, . - hugetools_run_on",
            ".popsection",
        );
    };
}

#[cfg(target_arch = "x86_64")]
run_on! {
    "endbr64",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
}

// `hint 34` is `bti c`, which processors without it pass over.
#[cfg(target_arch = "aarch64")]
run_on! {
    "hint 34",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "mov sp, x0",
    "mov x0, x2",
    "blr x1",
    "mov sp, x29",
    ".cfi_def_cfa_register sp",
    "ldp x29, x30, [sp], #16",
    "ret",
}

#[cfg(target_arch = "riscv64")]
run_on! {
    "addi sp, sp, -16",
    ".cfi_def_cfa_offset 16",
    "sd ra, 8(sp)",
    "sd s0, 0(sp)",
    ".cfi_offset ra, -8",
    ".cfi_offset s0, -16",
    "addi s0, sp, 16",
    ".cfi_def_cfa s0, 0",
    "mv sp, a0",
    "mv a0, a2",
    "jalr a1",
    "addi sp, s0, -16",
    "ld ra, 8(sp)",
    "ld s0, 0(sp)",
    ".cfi_def_cfa sp, 16",
    "addi sp, sp, 16",
    "ret",
}

// A caller has left room for its callee's registers at its stack's end, and so
// does this one.
#[cfg(target_arch = "s390x")]
run_on! {
    "stmg %r11, %r15, 88(%r15)",
    ".cfi_offset %r11, -72",
    ".cfi_offset %r14, -48",
    ".cfi_offset %r15, -40",
    "lgr %r11, %r15",
    ".cfi_def_cfa_register %r11",
    "lgr %r15, %r2",
    "aghi %r15, -160",
    "stg %r11, 0(%r15)",
    "lgr %r2, %r4",
    "basr %r14, %r3",
    "lmg %r11, %r15, 88(%r11)",
    ".cfi_def_cfa_register %r15",
    "br %r14",
}
