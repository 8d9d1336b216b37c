//! Functions of libc that not every libc has, or has elsewhere: words that the
//! loader fills with an address or leaves null. A strong reference that is not
//! found would keep every program from starting.
#![expect(unsafe_code, reason = "declares words that the loader fills")]

use core::ffi::{CStr, c_char, c_int, c_void};

use hugetools_kernfs::number::leading;

// For powerpc64 the C compiler assembles it, and all other assembly of ours: Rust
// does so since 1.95.
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

/// A handler of `pthread_atfork`.
pub type ForkHandler = extern "C" fn();

/// Reads a word as a function of a type; `None` where there is none.
#[macro_export]
macro_rules! weak_function {
    ($word:ident as $type:ty) => {{
        // SAFETY: a word of this library, written by the loader before any of
        // its code runs.
        let address = unsafe { $word.load(core::sync::atomic::Ordering::Relaxed) };
        // SAFETY: the address of the function of that name, whose type is that.
        (address != 0).then(|| unsafe { core::mem::transmute::<usize, $type>(address) })
    }};
}

/// Registers handlers for forks; whether libc could. glibc's own entry is
/// taken first: `pthread_atfork` is not in every `libc.so.6`.
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

/// Whether it is glibc 2.`minor` or older than that, itself not included.
pub fn is_glibc_before(minor: u32) -> bool {
    type Version = extern "C" fn() -> *const c_char;
    let Some(version) = weak_function!(hugetools_gnu_get_libc_version as Version) else {
        return false;
    };
    // SAFETY: a string of libc's own.
    let text = unsafe { CStr::from_ptr(version()) }.to_bytes();
    let number = text.strip_prefix(b"2.").and_then(leading);
    number.is_some_and(|number| number < u64::from(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_libc_has() {
        assert!(is_glibc());
        assert!(is_glibc_before(1000) && !is_glibc_before(17));
    }
}
