//! System calls that write to buffers of the program's, made again where they
//! fail because memory of ours is being replaced, or needs a page which the pool
//! has not: see [`hugetools_pages::migrate::retry`].
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{c_int, c_uint};
use core::ops::Range;

use hugetools_pages::migrate::retry::Call;
use hugetools_pages::sys::{self, Errno, cast};

/// Calls the next function of that type, or the kernel where there is none.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) -> $result:ty, $number:expr, ($($argument:expr),*)) => {{
        static NEXT: $crate::following::Following = $crate::following::Following::named($name);
        type Next = unsafe extern "C" fn($($type),*) -> $result;
        match NEXT.address() {
            Some(address) => {
                // SAFETY: the address of the function of that name, whose type
                // is that.
                let next = unsafe { core::mem::transmute::<usize, Next>(address) };
                // SAFETY: as the caller says.
                unsafe { next($($argument),*) }
            }
            None => {
                let words = [$($crate::reads::Word::word($argument)),*];
                $crate::reads::Answer::of($crate::reads::from_kernel($number, &words))
            }
        }
    }};
}

pub(crate) use next;

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

impl Answer for c_int {
    fn of(got: isize) -> c_int {
        c_int::try_from(got).unwrap_or(-1)
    }
}

/// What a system call gives, as C has it.
#[cold]
pub(crate) fn from_kernel(number: libc::c_long, args: &[usize]) -> isize {
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

/// The range of a buffer.
pub(crate) fn range(addr: usize, len: usize) -> Range<usize> {
    addr..addr.saturating_add(len)
}

/// The ranges of several.
///
/// # Safety
/// There must be so many, as the kernel found when it looked at them.
pub(crate) unsafe fn ranges(
    all: *const libc::iovec,
    count: usize,
) -> impl Iterator<Item = Range<usize>> {
    let count = if all.is_null() { 0 } else { count };
    (0..count).map(move |at| {
        // SAFETY: as the caller says.
        let at = unsafe { all.add(at) };
        // SAFETY: likewise.
        let one = unsafe { at.read() };
        range(one.iov_base as usize, one.iov_len)
    })
}

/// The ranges of a message.
///
/// # Safety
/// It must be one, as the kernel found when it looked at it.
pub(crate) unsafe fn of_message(
    message: *const libc::msghdr,
) -> impl Iterator<Item = Range<usize>> {
    let (mut all, mut count, mut control) = (core::ptr::null(), 0, 0..0);
    if !message.is_null() {
        // SAFETY: as the caller says.
        let message = unsafe { &*message };
        // Of musl's these are halves, and what is beside them means nothing.
        let half = |len: usize| len & 0xffff_ffff;
        (all, count) = (message.msg_iov.cast_const(), half(message.msg_iovlen));
        control = range(message.msg_control as usize, half(message.msg_controllen));
    }
    // SAFETY: as the caller says.
    unsafe { ranges(all, count) }.chain(core::iter::once(control))
}

/// The range of an array of so many.
pub(crate) fn array<T>(start: *const T, count: c_int) -> Range<usize> {
    let count = usize::try_from(count).unwrap_or(0);
    range(start as usize, count.saturating_mul(size_of::<T>()))
}

/// Makes a call, and again where that helps.
#[inline]
pub(crate) fn again<I: Iterator<Item = Range<usize>>, R: PartialEq + From<i8>>(
    buffers: impl Fn() -> I,
    call: impl Fn() -> R,
) -> R {
    let mut state = Call::begin();
    let mut got = call();
    if got == R::from(-1) && sys::errno() == Errno(libc::EFAULT) {
        got = go_on(&mut state, &buffers, &call, got);
    }
    got
}

#[cold]
fn go_on<I: Iterator<Item = Range<usize>>, R: PartialEq + From<i8>>(
    state: &mut Call,
    buffers: &impl Fn() -> I,
    call: &impl Fn() -> R,
    failed: R,
) -> R {
    let mut got = failed;
    while got == R::from(-1)
        && sys::errno() == Errno(libc::EFAULT)
        && state.is_to_be_made_again(buffers())
    {
        got = call();
    }
    got
}

/// Makes a call that fills a buffer from a file, from a place in it on; again
/// where it fails, or stops early in a plain file for the same reason.
#[inline]
pub(crate) fn filled(file: c_int, addr: usize, len: usize, read: impl Fn(usize) -> isize) -> isize {
    let state = Call::begin();
    let got = read(0);
    let is_whole = usize::try_from(got).is_ok_and(|got| got == len || got == 0);
    match is_whole || got < 0 && sys::errno() != Errno(libc::EFAULT) {
        true => got,
        false => fill_on(state, file, range(addr, len), got, &read),
    }
}

#[cold]
fn fill_on(
    mut state: Call,
    file: c_int,
    buffer: Range<usize>,
    first: isize,
    read: &impl Fn(usize) -> isize,
) -> isize {
    let mut done = 0;
    let mut got = first;
    loop {
        match usize::try_from(got) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(_) if sys::errno() != Errno(libc::EFAULT) => break,
            Err(_) => {}
        }
        let rest = buffer.start + done..buffer.end;
        let is_cut = || match got {
            1.. => state.may_have_stopped_at(rest.start) && sys::is_plain_file(file),
            _ => true,
        };
        if rest.is_empty() || !is_cut() || !state.is_to_be_made_again(core::iter::once(rest)) {
            break;
        }
        got = read(done);
    }
    match done {
        0 => got,
        done => cast::result(done),
    }
}
