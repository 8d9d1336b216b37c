//! memset, for short lengths and until libc's is known.
#![expect(unsafe_code, reason = "fills memory by address")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "all writes of a block stay within `len`"
)]

use core::sync::atomic::{Ordering, compiler_fence};

use super::copy::put;

type Vector = u128;

const BLOCK: usize = 4 * size_of::<Vector>();

/// Sets `len` bytes to one value.
///
/// # Safety
/// `to` must be writable for that length.
#[inline]
pub unsafe fn fill(to: *mut u8, value: u8, len: usize) {
    let word = Vector::from_ne_bytes([value; 16]);
    // SAFETY: upheld by the caller.
    unsafe {
        match len {
            0 => {}
            1 => to.write(value),
            2..=3 => fill_ends(to, [value; 2], len),
            4..=7 => fill_ends(to, u32::from_ne_bytes([value; 4]), len),
            8..=15 => fill_ends(to, u64::from_ne_bytes([value; 8]), len),
            16..=32 => fill_ends(to, word, len),
            33..=64 => fill_ends(to, [word; 2], len),
            65..=128 => fill_ends(to, [word; 4], len),
            _ => fill_blocks(to, word, len),
        }
    }
}

/// Writes the first and the last `T`. The length is at least one `T` and at most two.
///
/// # Safety
/// As for [`fill`].
#[inline(always)]
unsafe fn fill_ends<T: Copy>(to: *mut u8, value: T, len: usize) {
    // SAFETY: within the length, as the caller says.
    unsafe { put(to, 0, value) };
    // SAFETY: likewise.
    unsafe { put(to, len - size_of::<T>(), value) };
}

/// # Safety
/// As for [`fill`]; `len` must exceed [`BLOCK`].
unsafe fn fill_blocks(to: *mut u8, word: Vector, len: usize) {
    let last = len - BLOCK;
    let mut at = 0;
    while at < last {
        // SAFETY: within the length, as the caller says.
        unsafe { put(to, at, [word; 4]) };
        // Otherwise the compiler turns the loop into a call of memset.
        compiler_fence(Ordering::SeqCst);
        at += BLOCK;
    }
    // SAFETY: likewise.
    unsafe { put(to, last, [word; 4]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_at_all_alignments_and_lengths() {
        const ROOM: usize = 70;
        let lengths = (0..300).chain(2040..2130).chain([4096, 65537]);
        for len in lengths {
            for at in 0..ROOM {
                let mut ours = vec![0xee_u8; len + 2 * ROOM];
                let mut theirs = ours.clone();
                let to = ours[at..].as_mut_ptr();
                // SAFETY: there is room for that length.
                unsafe { fill(to, 0x5a, len) };
                theirs[at..at + len].fill(0x5a);
                assert!(ours == theirs, "{len} bytes at {at}");
            }
        }
    }
}
