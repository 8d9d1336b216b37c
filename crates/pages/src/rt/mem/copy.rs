//! memmove, also used as memcpy.
//!
//! Up to 128 bytes are all read before one is written, so that overlap doesn't matter. Longer
//! copies use blocks of four vectors.
#![expect(unsafe_code, reason = "copies memory by address")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "all of a block are within one range, for one reason"
)]

use core::sync::atomic::{Ordering, compiler_fence};

/// A vector register, if the machine has them.
type Vector = u128;

const VECTOR: usize = size_of::<Vector>();
const BLOCK: usize = 4 * VECTOR;

/// Copies `len` bytes; the ranges may overlap.
///
/// # Safety
/// `from` must be readable and `to` writable for that length.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    let ahead = (to as usize).wrapping_sub(from as usize);
    if len <= 2 * BLOCK {
        // SAFETY: upheld by the caller.
        unsafe { copy_few(to, from, len) };
    } else if ahead < len {
        // SAFETY: upheld by the caller.
        unsafe { backwards(to, from, len) };
    } else {
        // SAFETY: upheld by the caller, and `to` is not within `from`.
        unsafe { forwards(to, from, len) };
    }
}

/// # Safety
/// The value must be readable, at any alignment.
#[inline(always)]
unsafe fn get<T>(from: *const u8, at: usize) -> T {
    // SAFETY: upheld by the caller.
    let from = unsafe { from.add(at) };
    // SAFETY: upheld by the caller.
    unsafe { from.cast::<T>().read_unaligned() }
}

/// # Safety
/// The value must be writable, at any alignment.
#[inline(always)]
pub(super) unsafe fn put<T>(to: *mut u8, at: usize, value: T) {
    // SAFETY: upheld by the caller.
    let to = unsafe { to.add(at) };
    // SAFETY: upheld by the caller.
    unsafe { to.cast::<T>().write_unaligned(value) };
}

/// Copies the first and the last `T`. The length is at least one `T` and at most two.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_ends<T>(to: *mut u8, from: *const u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: within the length, as the caller says.
    let ends: [T; 2] = unsafe { [get(from, 0), get(from, last)] };
    let [first, second] = ends;
    // SAFETY: likewise.
    unsafe { put(to, 0, first) };
    // SAFETY: likewise.
    unsafe { put(to, last, second) };
}

/// # Safety
/// As for [`copy`]; at most two blocks.
#[inline(always)]
unsafe fn copy_few(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: upheld by the caller.
    unsafe {
        match len {
            0 => {}
            1 => put::<u8>(to, 0, get(from, 0)),
            2..=3 => copy_ends::<u16>(to, from, len),
            4..=7 => copy_ends::<u32>(to, from, len),
            8..=15 => copy_ends::<u64>(to, from, len),
            16..=32 => copy_ends::<Vector>(to, from, len),
            33..=64 => copy_ends::<[Vector; 2]>(to, from, len),
            _ => copy_ends::<[Vector; 4]>(to, from, len),
        }
    }
}

/// # Safety
/// As for [`copy`]; more than a block, and `to` must not be inside `from`.
unsafe fn forwards(to: *mut u8, from: *const u8, len: usize) {
    let last = len - BLOCK;
    // SAFETY: within the length, as the caller says.
    let end: [Vector; 4] = unsafe { get(from, last) };
    let mut at = 0;
    while at < last {
        // SAFETY: likewise.
        let block: [Vector; 4] = unsafe { get(from, at) };
        // SAFETY: likewise.
        unsafe { put(to, at, block) };
        compiler_fence(Ordering::SeqCst);
        at += BLOCK;
    }
    // SAFETY: likewise.
    unsafe { put(to, last, end) };
}

/// # Safety
/// As for [`copy`]; more than a block, and `from` must not be inside `to`, except at its start.
unsafe fn backwards(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: within the length, as the caller says.
    let start: [Vector; 4] = unsafe { get(from, 0) };
    let mut at = len;
    while at > BLOCK {
        at -= BLOCK;
        // SAFETY: likewise.
        let block: [Vector; 4] = unsafe { get(from, at) };
        // SAFETY: likewise.
        unsafe { put(to, at, block) };
        compiler_fence(Ordering::SeqCst);
    }
    // SAFETY: likewise.
    unsafe { put(to, 0, start) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around those at which the method changes.
    fn lengths() -> impl Iterator<Item = usize> {
        let changes = [128, 192, 256, 4096, 65536];
        let around = changes.into_iter().flat_map(|n| n - 9..n + 70);
        (0..300).chain(around)
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len)
            .map(|i| (i * 167 + i / 251).to_le_bytes()[0])
            .collect()
    }

    const ROOM: usize = 64;

    #[test]
    fn copies_at_all_alignments_and_lengths() {
        for len in lengths() {
            let source = pattern(len + ROOM);
            for (a, b) in (0..ROOM).map(|i| (i * 7 % ROOM, i)) {
                let mut ours = vec![0xee_u8; len + 2 * ROOM];
                let mut theirs = ours.clone();
                let (to, from) = (ours[b..].as_mut_ptr(), source[a..].as_ptr());
                // SAFETY: both have room for that length behind these places.
                unsafe { copy(to, from, len) };
                theirs[b..b + len].copy_from_slice(&source[a..a + len]);
                assert_eq!(ours, theirs, "{len} bytes from {a} to {b}");
            }
        }
    }

    #[test]
    fn copies_within_itself_as_copy_within_does() {
        let distances = [0, 1, 3, 8, 15, 16, 17, 63, 64, 65, 127, 129, 1000, 2049];
        for len in lengths() {
            for distance in distances {
                for (to, from) in [(distance, 0), (0, distance)] {
                    let mut ours = pattern(len + distance);
                    let mut theirs = ours.clone();
                    let base = ours.as_mut_ptr();
                    // SAFETY: within the vector.
                    let (target, source) = unsafe { (base.add(to), base.add(from)) };
                    // SAFETY: within the vector.
                    unsafe { copy(target, source, len) };
                    theirs.copy_within(from..from + len, to);
                    assert!(ours == theirs, "{len} bytes from {from} to {to}");
                }
            }
        }
    }
}
