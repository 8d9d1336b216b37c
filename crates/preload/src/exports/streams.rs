//! The functions of libc that read a stream into a buffer of the program's without one
//! of libc's between; see `crate::kernel_writes::buffers`. What libc reads into buffers
//! of its own is on ordinary memory where that is needed.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_int, c_void};

use hugetools_pages::migrate::retry::Call;
use hugetools_pages::sys::{self, Errno};
use libc::FILE;

use crate::kernel_writes::buffers::range;
use crate::next::call::{NO_CALL, next};

/// Fills a buffer of `count` items of a size by `read`, which is given how many bytes there
/// are already, and how many items of which size are to follow; how many items.
fn filled(
    buffer: *mut c_void,
    (size, count): (usize, usize),
    (stream, error): (*mut FILE, &StreamError),
    read: impl Fn(usize, usize, usize) -> usize,
) -> usize {
    let Some(len) = size.checked_mul(count).filter(|len| *len > 0) else {
        return read(0, size, count);
    };
    let (before, mut state) = (sys::errno(), Call::begin());
    // An error that the program has seen stays.
    let had_error = (error.is_set)(stream);
    sys::set_errno(Errno(0));
    let mut done = read(0, 1, len);
    while done < len && !had_error && sys::errno() == Errno(libc::EFAULT) && (error.is_set)(stream)
    {
        let rest = range((buffer as usize).saturating_add(done), len - done);
        if !state.is_to_be_made_again(core::iter::once(rest)) {
            break;
        }
        (error.forget)(stream);
        sys::set_errno(Errno(0));
        done += read(done, 1, len - done);
    }
    if sys::errno() == Errno(0) {
        sys::set_errno(before);
    }
    done / size
}

/// How a stream is asked whether a call on it has failed, and has that forgotten: under its
/// lock, or, for calls that do not take it, without.
struct StreamError {
    is_set: fn(*mut FILE) -> bool,
    forget: fn(*mut FILE),
}

const LOCKED: StreamError = StreamError {
    is_set: |stream| next!(c"ferror", fn(*mut FILE) -> c_int, NO_CALL, (stream)) > 0,
    forget: |stream| next!(c"clearerr", fn(*mut FILE) -> (), NO_CALL, (stream)),
};

const UNLOCKED: StreamError = StreamError {
    is_set: |stream| {
        next!(
            c"ferror_unlocked",
            fn(*mut FILE) -> c_int,
            NO_CALL,
            (stream)
        ) > 0
    },
    forget: |stream| next!(c"clearerr_unlocked", fn(*mut FILE) -> (), NO_CALL, (stream)),
};

/// `fread(3)`, by one of its names; in programs that are checked for overflows it is told
/// how much room there is.
macro_rules! fread_as {
    ($name:ident, $text:literal, $error:expr $(, $room:ident: $type:ty)?) => {
        /// `fread(3)`, by one of its names.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *mut c_void,
            $($room: $type,)?
            size: usize,
            count: usize,
            stream: *mut FILE,
        ) -> usize {
            filled(buffer, (size, count), (stream, &$error), |done, size, count| {
                let rest = buffer.wrapping_byte_add(done);
                next!(
                    $text,
                    fn(*mut c_void, $($type,)? usize, usize, *mut FILE) -> usize,
                    NO_CALL,
                    (rest, $($room.saturating_sub(done),)? size, count, stream)
                )
            })
        }
    };
}

fread_as!(fread, c"fread", LOCKED);
fread_as!(fread_unlocked, c"fread_unlocked", UNLOCKED);
fread_as!(__fread_chk, c"__fread_chk", LOCKED, room: usize);
fread_as!(__fread_unlocked_chk, c"__fread_unlocked_chk", UNLOCKED, room: usize);
