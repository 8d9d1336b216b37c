//! A call of the function that ours stands before, found when it is first called, or of
//! the kernel where there is none.
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{c_int, c_uint};

use hugetools_pages::sys::{self, Errno, cast};

/// Calls the next function of that type, or where there is none the kernel, or does what
/// stands behind `else`.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) -> $result:ty, $number:expr, ($($argument:expr),*)) => {
        $crate::next::call::next!(
            $name,
            fn($($type),*) -> $result,
            ($($argument),*),
            else {
                let words = [$($crate::next::call::Word::word($argument)),*];
                $crate::next::call::Answer::of($crate::next::call::from_kernel($number, &words))
            }
        )
    };
    ($name:literal, fn($($type:ty),*) -> $result:ty, ($($argument:expr),*), else $otherwise:block) => {{
        static NEXT: $crate::next::following::Following = $crate::next::following::Following::named($name);
        type Next = unsafe extern "C" fn($($type),*) -> $result;
        match NEXT.address() {
            Some(address) => {
                // SAFETY: the address of the function of that name, whose type
                // is that.
                let next = unsafe { core::mem::transmute::<usize, Next>(address) };
                // SAFETY: as the caller says.
                unsafe { next($($argument),*) }
            }
            None => $otherwise,
        }
    }};
}

/// Hands all words of a call on to the next function of that name, whatever it makes of
/// them, where that may be one of the program's own; `None` where it is libc's.
macro_rules! next_of_another {
    ($next:expr, ($($word:expr),*)) => {
        $next.of_another().map(|address| {
            type Next = unsafe extern "C" fn($($crate::next::call::as_word!($word)),*) -> isize;
            // SAFETY: the address of the function of that name, which gets what its caller
            // has passed.
            let next = unsafe { core::mem::transmute::<usize, Next>(address) };
            // SAFETY: as the caller says.
            unsafe { next($($word),*) }
        })
    };
}

/// The type of a word.
macro_rules! as_word {
    ($word:expr) => {
        usize
    };
}

pub(crate) use {as_word, next, next_of_another};

/// For functions that only libc has.
pub(crate) const NO_CALL: libc::c_long = -1;

/// An argument of a system call.
pub(crate) trait Word {
    /// As the kernel takes it.
    fn word(self) -> usize;
}

impl Word for usize {
    fn word(self) -> usize {
        self
    }
}

impl Word for c_int {
    fn word(self) -> usize {
        cast::extended(self)
    }
}

impl Word for c_uint {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for i64 {
    fn word(self) -> usize {
        cast::word(self)
    }
}

impl<T> Word for *mut T {
    fn word(self) -> usize {
        self as usize
    }
}

impl<T> Word for *const T {
    fn word(self) -> usize {
        self as usize
    }
}

/// What a system call gives, in the type that C has for it.
pub(crate) trait Answer {
    /// The same number.
    fn of(got: isize) -> Self;
}

impl Answer for isize {
    fn of(got: isize) -> isize {
        got
    }
}

impl Answer for usize {
    fn of(got: isize) -> usize {
        usize::try_from(got).unwrap_or(0)
    }
}

impl Answer for () {
    fn of(_got: isize) {}
}

impl Answer for c_int {
    fn of(got: isize) -> c_int {
        c_int::try_from(got).unwrap_or(-1)
    }
}

/// What a system call gives, as C has it. Of what only libc does there is none: a filter
/// may end the program for a call without a number.
#[cold]
pub(crate) fn from_kernel(number: libc::c_long, args: &[usize]) -> isize {
    if number == NO_CALL {
        sys::set_errno(Errno(libc::ENOSYS));
        return -1;
    }
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    // SAFETY: as the program passes them.
    match unsafe { sys::any_call(number, all) } {
        Ok(result) => cast::result(result),
        Err(error) => {
            sys::set_errno(error);
            -1
        }
    }
}
