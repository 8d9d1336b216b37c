//! Detects valgrind by a client request (`x86_64` and `aarch64`): instructions that have no effect
//! outside valgrind.
#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "asks by a sequence of instructions")
)]

/// Whether valgrind runs this process.
pub fn is_under_valgrind() -> bool {
    const RUNNING_ON_VALGRIND: usize = 0x1001;
    request([RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0
}

/// Makes a client request; 0 without valgrind.
#[cfg(target_arch = "x86_64")]
fn request(words: [usize; 6]) -> usize {
    let result: usize;
    // SAFETY: the rotations add up to 128 bits and restore the register; valgrind reads the
    // words and answers in rdx.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") 0_usize => result,
            options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn request(words: [usize; 6]) -> usize {
    let result: usize;
    // SAFETY: as above, with the answer in x3.
    unsafe {
        core::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") words.as_ptr(),
            inout("x3") 0_usize => result,
            options(nostack),
        );
    }
    result
}

/// On other machines valgrind isn't detected.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn request(_: [usize; 6]) -> usize {
    0
}
