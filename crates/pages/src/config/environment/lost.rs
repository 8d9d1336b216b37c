//! What `LD_PRELOAD` names and a new root has not: the loader of each program would
//! say so.

use core::ffi::{CStr, c_char};

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};

use crate::rt::path::Path;
use crate::sys;

const NAME: &[u8] = b"LD_PRELOAD=";

/// Strings of the kernel's lie behind the block, and it lets them be so many bytes
/// at most.
const ROOM: usize = 8 << 20;

/// Takes our libraries out of the environment's `LD_PRELOAD` where they are not there
/// any more. Only the string that the kernel gave is changed, which can be written:
/// who has set the variable since knows what it is to be.
///
/// # Safety
/// `at` must be the environment, an array of C strings that ends with a null pointer;
/// `given` where the kernel has put it. Nobody may change it meanwhile.
pub(super) unsafe fn drop_lost_libraries(mut at: *const *mut c_char, given: usize) {
    while !at.is_null() {
        // SAFETY: the null entry has not been reached.
        let entry = unsafe { at.read() };
        if entry.is_null() {
            return;
        }
        // SAFETY: each entry is a C string.
        let len = unsafe { CStr::from_ptr(entry) }.count_bytes();
        if (given..given + ROOM).contains(&(entry as usize)) {
            // SAFETY: a string on the stack, which nobody else changes.
            let bytes = unsafe { core::slice::from_raw_parts_mut(entry.cast::<u8>(), len + 1) };
            if bytes.starts_with(NAME) {
                drop_lost(&mut bytes[NAME.len()..]);
            }
        }
        // SAFETY: likewise, so there is a next one.
        at = unsafe { at.add(1) };
    }
}

/// Drops what is lost from a list that ends with a zero.
fn drop_lost(list: &mut [u8]) {
    let is_end = |byte: u8| matches!(byte, b':' | b' ' | 0);
    if !list.split(|byte| is_end(*byte)).any(is_lost) {
        return;
    }
    let (mut from, mut to) = (0, 0);
    while from < list.len() {
        let len = list[from..].iter().position(|byte| is_end(*byte));
        let end = from + len.unwrap_or(list.len() - from);
        let next = (end + 1).min(list.len());
        if !is_lost(&list[from..end]) {
            list.copy_within(from..end, to);
            to += end - from;
            list[to] = b':';
            to += 1;
        }
        from = next;
    }
    // The last separator, or the beginning, is the end.
    list[to.saturating_sub(1)] = 0;
}

/// Whether this is one of our libraries, by its path, and is not there.
fn is_lost(entry: &[u8]) -> bool {
    let Some(slash) = entry.iter().rposition(|byte| *byte == b'/') else {
        return false;
    };
    let name = &entry[slash + 1..];
    let is_ours = [LIBRARY, HEAP_LIBRARY]
        .iter()
        .any(|ours| name == ours.as_bytes());
    let entry = core::str::from_utf8(entry).ok();
    let path = entry
        .filter(|_| is_ours)
        .and_then(|entry| Path::of(format_args!("{entry}")));
    path.is_some_and(|path| sys::is_gone(path.c_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(list: &str) -> Vec<u8> {
        let mut list = list.as_bytes().to_vec();
        list.push(0);
        drop_lost(&mut list);
        CStr::from_bytes_until_nul(&list)
            .unwrap()
            .to_bytes()
            .to_vec()
    }

    #[test]
    fn only_ours_that_is_not_there_is_dropped() {
        let lost = format!("/no/such/{HEAP_LIBRARY}");
        assert_eq!(left(&lost), b"");
        assert_eq!(left(&format!("{lost}:/a.so")), b"/a.so");
        assert_eq!(left(&format!("/a.so {lost}")), b"/a.so");
        assert_eq!(left(&format!("/a.so:{lost}:b.so")), b"/a.so:b.so");
        for stays in ["", "/no/such/a.so", HEAP_LIBRARY, "a:b c"] {
            assert_eq!(left(stays), stays.as_bytes());
        }
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join(LIBRARY);
        std::fs::create_dir(&there).unwrap();
        let there = there.to_str().unwrap();
        assert_eq!(left(there), there.as_bytes());
    }
}
