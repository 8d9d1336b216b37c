//! memcmp and strlen.
#![expect(unsafe_code, reason = "reads memory by address")]
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "all of a block are within one range, for one reason"
)]

use core::cmp::Ordering;
use core::ffi::c_char;
use core::sync::atomic::{self, compiler_fence};

/// Compares bytes as unsigned numbers. Nothing long is compared, so it goes byte by byte.
///
/// # Safety
/// Both must be readable for that length.
#[inline]
pub unsafe fn compare(a: *const u8, b: *const u8, len: usize) -> Ordering {
    for at in 0..len {
        // SAFETY: within the length, as the caller says.
        let (x, y) = unsafe { (a.add(at).read(), b.add(at).read()) };
        if x != y {
            return x.cmp(&y);
        }
        compiler_fence(atomic::Ordering::SeqCst);
    }
    Ordering::Equal
}

/// The length of a C string.
///
/// # Safety
/// It must be a C string.
#[inline]
pub unsafe fn length(text: *const c_char) -> usize {
    let mut len = 0;
    // SAFETY: no earlier byte was the terminator.
    while unsafe { text.add(len).read() } != 0 {
        compiler_fence(atomic::Ordering::SeqCst);
        len += 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_as_slices_do() {
        let first: Vec<u8> = (0..400_u32).map(|i| (i * 37).to_le_bytes()[0]).collect();
        for len in 0..200 {
            for (a, b) in [(0, 0), (1, 5), (7, 2)] {
                let x = first[a..a + len].to_vec();
                let mut room = vec![0; b];
                room.extend_from_slice(&x);
                // SAFETY: both have that length.
                let same = unsafe { compare(x.as_ptr(), room[b..].as_ptr(), len) };
                assert_eq!(same, Ordering::Equal);
                for differs in 0..len {
                    room[b + differs] ^= 0x80;
                    let expected = x.as_slice().cmp(&room[b..]);
                    // SAFETY: both have that length.
                    let found = unsafe { compare(x.as_ptr(), room[b..].as_ptr(), len) };
                    assert_eq!(found, expected, "{len} bytes, {differs}");
                    room[b + differs] ^= 0x80;
                }
            }
        }
    }

    #[test]
    fn lengths_of_texts() {
        for len in 0..100 {
            let mut text = vec![c_char::MAX; len];
            text.push(0);
            // SAFETY: it ends with a zero byte.
            assert_eq!(unsafe { length(text.as_ptr()) }, len);
        }
    }
}
