//! Weak symbols, mostly of libc: the loader stores each address in a word, or leaves null. With a
//! strong reference, no program would start on a libc that lacks the symbol.
#![expect(unsafe_code, reason = "declares words that the loader fills")]

use core::ffi::{c_char, c_int, c_void};

// Rust has no assembly for powerpc64 before 1.95: there the C compiler assembles it.
#[cfg(not(target_arch = "powerpc64"))]
core::arch::global_asm!(
    include_str!("word_macros.s"),
    include_str!("words.s"),
    options(raw)
);

/// Declares a word of the crate's `words.s`.
#[macro_export]
macro_rules! word {
    ($word:ident) => {
        unsafe extern "C" {
            static $word: core::sync::atomic::AtomicUsize;
        }
    };
}

word!(hugetools_register_atfork);
word!(hugetools_pthread_atfork);
word!(hugetools_gnu_get_libc_version);

/// A handler for `pthread_atfork`.
pub type ForkHandler = extern "C" fn();

/// Reads a word as a function pointer; `None` if it is null.
#[macro_export]
macro_rules! weak_function {
    ($word:ident as $type:ty) => {{
        // SAFETY: the loader wrote the word before any code of this library ran.
        let address = unsafe { $word.load(core::sync::atomic::Ordering::Relaxed) };
        // SAFETY: the address of the function of that name and type.
        unsafe { $crate::rt::weak::function::<$type>(address) }
    }};
}

/// The function at an address; `None` if that is 0.
///
/// # Safety
/// It must be the address of a function of this type, or 0.
pub unsafe fn function<F: Copy>(address: usize) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: upheld by the caller.
    (address != 0).then(|| unsafe { core::mem::transmute_copy(&address) })
}

/// Registers fork handlers; returns whether libc did. glibc's entry is tried first:
/// not every `libc.so.6` exports `pthread_atfork`.
pub fn atfork(prepare: ForkHandler, parent: ForkHandler, child: ForkHandler) -> bool {
    type Glibc = extern "C" fn(ForkHandler, ForkHandler, ForkHandler, *mut c_void) -> c_int;
    type Posix = extern "C" fn(ForkHandler, ForkHandler, ForkHandler) -> c_int;
    if let Some(register) = weak_function!(hugetools_register_atfork as Glibc) {
        return register(prepare, parent, child, core::ptr::null_mut()) == 0;
    }
    match weak_function!(hugetools_pthread_atfork as Posix) {
        Some(register) => register(prepare, parent, child) == 0,
        None => false,
    }
}

/// Whether the program's libc is glibc.
pub fn is_glibc() -> bool {
    type Version = extern "C" fn() -> *const c_char;
    weak_function!(hugetools_gnu_get_libc_version as Version).is_some()
}
