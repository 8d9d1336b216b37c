//! The loader's list without its lock: read by the kernel, for which what another thread
//! has unmapped meanwhile is no more than an error.
//!
//! What is shown are copies. What an object has in its memory may be gone, but where there
//! is no other thread.
#![expect(unsafe_code, reason = "reads what the loader knows")]

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering;

use hugetools_pages::sys::{self, cast};

use crate::loader::objects::{AT_START, Object};

/// `link_map`, as far as all loaders have it.
#[repr(C)]
struct Link {
    base: usize,
    name: usize,
    _dynamic: usize,
    next: usize,
}

/// So long may the list be: it may be in the middle of a change.
const MOST: usize = 4096;

/// So long may a name be, and so many headers has a file.
const NAME: usize = 512;
const HEADERS: usize = 32;

/// Calls `visit` for each object, the program first, until it breaks. Beside other threads
/// it must look at nothing but what it is given.
pub(crate) fn each(mut visit: impl FnMut(&Object<'_>) -> ControlFlow<()>) {
    /// Where the list begins in `r_debug`.
    const FIRST: usize = size_of::<usize>();
    let list = AT_START.list.load(Ordering::Relaxed);
    let mut at = read::<usize>(list.wrapping_add(FIRST)).filter(|_| list != 0);
    for place in 0..MOST {
        let Some(link) = at.filter(|at| *at != 0).and_then(read::<Link>) else {
            return;
        };
        if show(&link, place, &mut visit).is_some_and(|flow| flow.is_break()) {
            return;
        }
        at = Some(link.next);
    }
}

/// Shows one, where that is there.
fn show(
    link: &Link,
    place: usize,
    visit: &mut impl FnMut(&Object<'_>) -> ControlFlow<()>,
) -> Option<ControlFlow<()>> {
    let mut name = [0; NAME];
    let len = read_bytes(link.name, &mut name[..NAME - 1]).unwrap_or(0);
    name[len..].fill(0);
    let mut object = Object {
        base: link.base,
        name: CStr::from_bytes_until_nul(&name).unwrap_or_default(),
        headers: &[],
        is_program: place == 0,
        place,
        loads: 0,
    };
    if object.is_vdso() {
        return None;
    }
    let mut headers = [const { MaybeUninit::<libc::Elf64_Phdr>::zeroed() }; HEADERS];
    let (from, count) = headers_of(link.base, place)?;
    let count = count.min(HEADERS);
    let to = headers.as_mut_ptr().cast::<u8>();
    // SAFETY: so long is that place at least.
    let room =
        unsafe { core::slice::from_raw_parts_mut(to, count * size_of::<libc::Elf64_Phdr>()) };
    if read_bytes(from, room) != Some(room.len()) {
        return None;
    }
    // SAFETY: all bits zero are a header, and so is what was read.
    object.headers = unsafe { core::slice::from_raw_parts(headers.as_ptr().cast(), count) };
    Some(visit(&object))
}

/// Where its headers are, and how many.
fn headers_of(base: usize, place: usize) -> Option<(usize, usize)> {
    if place == 0 {
        let [at, count] = [&AT_START.headers, &AT_START.count];
        return Some((at.load(Ordering::Relaxed), count.load(Ordering::Relaxed)));
    }
    let file = read::<libc::Elf64_Ehdr>(base)?;
    let is_file = file.e_ident.starts_with(b"\x7fELF\x02");
    let at = base.wrapping_add(usize::try_from(file.e_phoff).ok()?);
    is_file.then_some((at, usize::from(file.e_phnum)))
}

/// A value, whatever its bits are.
fn read<T>(at: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let to = value.as_mut_ptr().cast::<u8>();
    // SAFETY: the value's own bytes, which are zero.
    let room = unsafe { core::slice::from_raw_parts_mut(to, size_of::<T>()) };
    let got = read_bytes(at, room)?;
    // SAFETY: words and arrays of bytes, of which all bits are valid.
    (got == size_of::<T>()).then(|| unsafe { value.assume_init() })
}

/// Reads what is there; how much of it.
fn read_bytes(at: usize, to: &mut [u8]) -> Option<usize> {
    let piece = |base: usize, len| libc::iovec {
        iov_base: base as *mut c_void,
        iov_len: len,
    };
    let [here, there] = [to.as_mut_ptr() as usize, at].map(|base| piece(base, to.len()));
    let [here, there] = [&here, &there].map(|piece| core::ptr::from_ref(piece) as usize);
    let own = cast::extended(i32::try_from(sys::getpid()).ok()?);
    // SAFETY: it writes to that room only.
    unsafe { sys::any_call(libc::SYS_process_vm_readv, [own, here, 1, there, 1, 0]) }.ok()
}
