//! `makecontext(3)`: the stack of a coroutine must not be on pages of a pool. It takes any
//! number of arguments, so that ours has a look at the context and jumps on to the next
//! one, with all registers and the stack as they were.
#![expect(unsafe_code, reason = "defines a function of libc in assembly")]

use crate::next::following::Following;

use super::stacks;

static NEXT: Following = Following::named(c"makecontext");

/// The beginning of `ucontext_t`, the same on all machines.
#[repr(C)]
struct Context {
    flags: usize,
    link: *mut Context,
    stack: libc::stack_t,
}

/// Has the stack of a context on ordinary memory; where the next function of the name is,
/// or 0.
///
/// # Safety
/// As for `makecontext`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hugetools_makecontext(context: *const Context) -> usize {
    // SAFETY: as the caller says.
    if let Some(context) = unsafe { context.as_ref() } {
        stacks::of_coroutine(&context.stack);
    }
    NEXT.address().unwrap_or(0)
}

#[cfg(target_arch = "powerpc64")]
unsafe extern "C" {
    fn makecontext();
}

/// Of what the C compiler has assembled, the linker takes what somebody names.
#[cfg(target_arch = "powerpc64")]
#[used]
static NAMED: unsafe extern "C" fn() = makecontext;

/// Defines `makecontext` by these lines. (For powerpc64 see `powerpc64le.s`.)
#[cfg(not(target_arch = "powerpc64"))]
macro_rules! makecontext {
    ($($line:literal,)*) => {
        core::arch::global_asm!(
            ".pushsection .text.makecontext,\"ax\",@progbits",
            ".balign 16",
            ".globl makecontext",
            ".type makecontext,@function",
            "makecontext:",
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
            ".size makecontext, . - makecontext",
            ".popsection",
        );
    };
}

#[cfg(target_arch = "x86_64")]
makecontext! {
    "endbr64",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push rax",
    ".cfi_def_cfa_offset 64",
    "call hugetools_makecontext",
    "mov r11, rax",
    "pop rax",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    ".cfi_def_cfa_offset 8",
    "test r11, r11",
    "jz 2f",
    "jmp r11",
    "2:",
    "ret",
}

// `hint 34` is `bti c`, which processors without it pass over.
#[cfg(target_arch = "aarch64")]
makecontext! {
    "hint 34",
    "stp x29, x30, [sp, #-80]!",
    ".cfi_def_cfa_offset 80",
    ".cfi_offset x29, -80",
    ".cfi_offset x30, -72",
    "stp x0, x1, [sp, #16]",
    "stp x2, x3, [sp, #32]",
    "stp x4, x5, [sp, #48]",
    "stp x6, x7, [sp, #64]",
    "mov x29, sp",
    "bl hugetools_makecontext",
    "mov x16, x0",
    "ldp x0, x1, [sp, #16]",
    "ldp x2, x3, [sp, #32]",
    "ldp x4, x5, [sp, #48]",
    "ldp x6, x7, [sp, #64]",
    "ldp x29, x30, [sp], #80",
    ".cfi_def_cfa_offset 0",
    "cbz x16, 2f",
    "br x16",
    "2:",
    "ret",
}

#[cfg(target_arch = "riscv64")]
makecontext! {
    "addi sp, sp, -80",
    ".cfi_def_cfa_offset 80",
    "sd ra, 72(sp)",
    ".cfi_offset ra, -8",
    "sd a0, 0(sp)",
    "sd a1, 8(sp)",
    "sd a2, 16(sp)",
    "sd a3, 24(sp)",
    "sd a4, 32(sp)",
    "sd a5, 40(sp)",
    "sd a6, 48(sp)",
    "sd a7, 56(sp)",
    "call hugetools_makecontext",
    "mv t1, a0",
    "ld a0, 0(sp)",
    "ld a1, 8(sp)",
    "ld a2, 16(sp)",
    "ld a3, 24(sp)",
    "ld a4, 32(sp)",
    "ld a5, 40(sp)",
    "ld a6, 48(sp)",
    "ld a7, 56(sp)",
    "ld ra, 72(sp)",
    "addi sp, sp, 80",
    ".cfi_def_cfa_offset 0",
    "beqz t1, 2f",
    "jr t1",
    "2:",
    "ret",
}

// A caller has left room for its callee's registers at its stack's end, and so
// does this one.
#[cfg(target_arch = "s390x")]
makecontext! {
    "stmg %r2, %r15, 16(%r15)",
    ".cfi_offset %r14, -48",
    ".cfi_offset %r15, -40",
    "aghi %r15, -160",
    ".cfi_def_cfa_offset 320",
    "brasl %r14, hugetools_makecontext",
    "lgr %r1, %r2",
    "lmg %r2, %r15, 176(%r15)",
    ".cfi_def_cfa_offset 160",
    "ltgr %r1, %r1",
    "jz 2f",
    "br %r1",
    "2:",
    "br %r14",
}
