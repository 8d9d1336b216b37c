//! System calls that write to buffers of the program's, made again where they
//! fail because memory of ours is being replaced, or needs a page which the pool
//! has not: see [`hugetools_pages::migrate::retry`].
#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_pages::extent::index;
use hugetools_pages::migrate::retry::Call;
use hugetools_pages::sys::{self, Errno, cast};

/// The range of a buffer.
pub(crate) fn range(addr: usize, len: usize) -> Range<usize> {
    addr..addr.saturating_add(len)
}

/// Whether what the program names can be read, as the kernel finds out.
pub(crate) fn can_be_read(range: &Range<usize>) -> bool {
    can_be(range, sys::is_readable)
}

/// The same of what a call names that was refused with `EFAULT`, or may have been.
fn could_be_read(range: &Range<usize>) -> bool {
    can_be(range, sys::is_readable_by_futex)
}

fn can_be(range: &Range<usize>, is_readable: fn(&Range<usize>) -> bool) -> bool {
    // From the last address on, −1, a range is empty however long it should be.
    let is_somewhere = range.start != usize::MAX;
    is_somewhere && (range.is_empty() || index::holds(range.start) || is_readable(range))
}

/// The ranges of several; none where they cannot be read.
///
/// # Safety
/// As the call that names them says.
pub(crate) unsafe fn ranges(
    all: *const libc::iovec,
    count: usize,
) -> impl Iterator<Item = Range<usize>> {
    let list = range(all as usize, count.saturating_mul(size_of::<libc::iovec>()));
    let count = if could_be_read(&list) { count } else { 0 };
    // SAFETY: as the caller says.
    unsafe { listed(all, count) }
}

/// The same of a list that can be read.
///
/// # Safety
/// It must be one.
unsafe fn listed(all: *const libc::iovec, count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).map(move |at| {
        // SAFETY: as the caller says.
        let at = unsafe { all.add(at) };
        // SAFETY: likewise.
        let one = unsafe { at.read() };
        range(one.iov_base as usize, one.iov_len)
    })
}

/// The ranges of a message; none where it cannot be read.
///
/// # Safety
/// As the call that names it says.
pub(crate) unsafe fn of_message(
    message: *const libc::msghdr,
) -> impl Iterator<Item = Range<usize>> {
    let (mut all, mut count, mut control) = (core::ptr::null(), 0, 0..0);
    if could_be_read(&range(message as usize, size_of::<libc::msghdr>())) {
        // SAFETY: as the caller says.
        let message = unsafe { &*message };
        (all, count) = (message.msg_iov.cast_const(), half(message.msg_iovlen));
        control = range(message.msg_control as usize, half(message.msg_controllen));
    }
    // SAFETY: as the caller says.
    unsafe { ranges(all, count) }.chain(core::iter::once(control))
}

/// A length of a message's: of musl's these are halves, also where the type says
/// otherwise, and what is beside them means nothing.
pub(crate) fn half(len: impl TryInto<usize>) -> usize {
    len.try_into().map_or(0, |len| len & 0xffff_ffff)
}

/// The range of a value.
pub(crate) fn one<T>(value: *const T) -> Range<usize> {
    range(value as usize, size_of::<T>())
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
    let (before, mut state) = (sys::errno(), Call::begin());
    let mut got = call();
    if got == R::from(-1) && sys::errno() == Errno(libc::EFAULT) {
        got = go_on(&mut state, &buffers, &call, got);
        if got != R::from(-1) {
            sys::set_errno(before);
        }
    }
    got
}

/// The same of a call whose buffers can be listed. There are many of them, so that little is
/// made anew for each.
#[inline]
pub(crate) fn again_for<const N: usize, R: PartialEq + From<i8>>(
    buffers: impl Fn() -> [Range<usize>; N],
    call: impl Fn() -> R,
) -> R {
    let (before, mut state) = (sys::errno(), Call::begin());
    let mut is_later = false;
    loop {
        let got = call();
        if got != R::from(-1) {
            if is_later {
                sys::set_errno(before);
            }
            return got;
        }
        if sys::errno() != Errno(libc::EFAULT) || !is_for_again(&mut state, &buffers()) {
            return got;
        }
        is_later = true;
    }
}

/// The same of a call that gives the number of an error, this one where its buffers could
/// not be written.
#[inline]
pub(crate) fn again_at<const N: usize>(
    refused: c_int,
    buffers: impl Fn() -> [Range<usize>; N],
    call: impl Fn() -> c_int,
) -> c_int {
    let mut state = Call::begin();
    loop {
        let got = call();
        if got != refused || !is_for_again(&mut state, &buffers()) {
            return got;
        }
    }
}

#[cold]
#[inline(never)]
fn is_for_again(state: &mut Call, buffers: &[Range<usize>]) -> bool {
    state.is_to_be_made_again(buffers.iter().cloned())
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
    filled_from(|| sys::is_plain_file(file), addr, len, read)
}

/// The same, from what `has_all` tells of: whether it has all that is asked for at once,
/// or ends.
#[inline]
pub(crate) fn filled_from(
    has_all: impl Fn() -> bool,
    addr: usize,
    len: usize,
    read: impl Fn(usize) -> isize,
) -> isize {
    let (before, state) = (sys::errno(), Call::begin());
    let got = read(0);
    let is_whole = usize::try_from(got).is_ok_and(|got| got == len || got == 0);
    if is_whole || got < 0 && sys::errno() != Errno(libc::EFAULT) {
        return got;
    }
    let got = fill_on(state, &has_all, range(addr, len), got, &read);
    if got >= 0 {
        sys::set_errno(before);
    }
    got
}

#[cold]
fn fill_on(
    mut state: Call,
    has_all: &impl Fn() -> bool,
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
            1.. => state.may_have_stopped_at(rest.start, false) && has_all(),
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

/// Makes a call that fills several buffers from a file, from a place in it on; again where
/// it fails. Where it stops early in a plain file for the same reason, the rest is read one
/// buffer at a time.
///
/// # Safety
/// As the call says.
#[inline]
pub(crate) unsafe fn filled_each(
    file: c_int,
    all: *const libc::iovec,
    count: c_int,
    read: impl Fn(*const libc::iovec, c_int, usize) -> isize,
) -> isize {
    let (before, state) = (sys::errno(), Call::begin());
    let how_many = usize::try_from(count).unwrap_or(0);
    // SAFETY: as the caller says.
    let buffers = || unsafe { ranges(all, how_many) };
    let got = again(buffers, || read(all, count, 0));
    let done = usize::try_from(got).unwrap_or(0);
    // SAFETY: the kernel has read the list, or none of it is looked at.
    let buffers = || unsafe { listed(all, how_many) };
    let is_whole = || buffers().fold(0_usize, |len, one| len.saturating_add(one.len())) <= done;
    if done == 0 || is_whole() {
        return got;
    }
    let done = fill_rest(file, &state, buffers(), done, &read);
    sys::set_errno(before);
    cast::result(done)
}

/// What such a call has read after all, of whose buffers so much is filled.
#[cold]
fn fill_rest(
    file: c_int,
    state: &Call,
    buffers: impl Iterator<Item = Range<usize>>,
    filled: usize,
    read: &impl Fn(*const libc::iovec, c_int, usize) -> isize,
) -> usize {
    let (mut done, mut end) = (filled, 0);
    for buffer in buffers {
        let start = end;
        end += buffer.len();
        if done >= end {
            continue;
        }
        let rest = buffer.start + (done - start)..buffer.end;
        let was_cut =
            || state.may_have_stopped_at(rest.start, done == start) && sys::is_plain_file(file);
        if done == filled && !was_cut() {
            break;
        }
        let more = filled_from(
            || true,
            rest.start,
            rest.len(),
            |part| {
                let one = libc::iovec {
                    iov_base: (rest.start + part) as *mut _,
                    iov_len: rest.len() - part,
                };
                read(&raw const one, 1, done + part)
            },
        );
        done += usize::try_from(more).unwrap_or(0);
        if done < end {
            break;
        }
    }
    done
}
