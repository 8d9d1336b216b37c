//! Calls of libc that only tell something: lists of them, each with what the kernel
//! writes to, become functions that are made again.

/// Functions that give -1 where they fail. Each is made again: see
/// [`super::buffers::again_for`].
macro_rules! made_again {
    ($($(#[$about:meta])+ $name:ident, $text:literal,
       ($($argument:ident: $type:ty),*) -> $result:ty, $number:expr, [$($range:expr),*];)*) => {$(
        $(#[$about])+
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let buffers = || [$($range),*];
            $crate::kernel_writes::buffers::again_for(buffers, || {
                $crate::next::call::next!(
                    $text, fn($($type),*) -> $result, $number, ($($argument),*)
                )
            })
        }
    )*};
}

/// The same of functions that give the number of an error.
macro_rules! made_again_by_number {
    ($($(#[$about:meta])+ $name:ident, $text:literal,
       ($($argument:ident: $type:ty),*), $error:expr, [$($range:expr),*];)*) => {$(
        $(#[$about])+
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> ::core::ffi::c_int {
            let buffers = || [$($range),*];
            $crate::kernel_writes::buffers::again_at($error, buffers, || {
                $crate::next::call::next!(
                    $text, fn($($type),*) -> c_int, ($($argument),*),
                    // The sign is the same as of its other errors.
                    else { libc::ENOSYS * c_int::signum($error) }
                )
            })
        }
    )*};
}

/// Calls the next function of that type, which takes any number of words behind the
/// others, or the kernel where there is none.
macro_rules! next_of_many {
    ($text:literal, fn($($type:ty),*) -> $result:ty, $number:expr,
     ($($argument:expr),*), ($($word:expr),*)) => {{
        static NEXT: $crate::next::following::Following =
            $crate::next::following::Following::named($text);
        type Next = unsafe extern "C" fn($($type,)* ...) -> $result;
        match NEXT.address() {
            Some(address) => {
                // SAFETY: the address of the function of that name, whose type is that.
                let next = unsafe { core::mem::transmute::<usize, Next>(address) };
                // SAFETY: as the caller says.
                unsafe { next($($argument,)* $($word),*) }
            }
            None => {
                let words = [$($crate::next::call::Word::word($argument),)* $($word),*];
                $crate::next::call::Answer::of($crate::next::call::from_kernel($number, &words))
            }
        }
    }};
}

pub(crate) use {made_again, made_again_by_number, next_of_many};
