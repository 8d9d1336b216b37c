//! The initial environment block of the program.
//!
//! Reads libc's `__environ`, because a program may define its own `environ`. Until libc's
//! constructor has run, `__environ` is null, so `/proc/self/environ` is read.
#![expect(unsafe_code, reason = "reads the environment block")]

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::env;

use crate::kernel::procfile;
use crate::{sys, word};

word!(hugetools_environ);

/// Whether the constructor has run. An environment that is missing then stays missing.
static CONSTRUCTOR_RAN: AtomicBool = AtomicBool::new(false);

/// Records that the constructor runs.
pub fn constructor_runs() {
    CONSTRUCTOR_RAN.store(true, Ordering::Release);
}

/// The block in the program's memory; null if libc doesn't know it yet.
fn block() -> *const *const c_char {
    // SAFETY: a word of this library, written by the loader before any of its code runs.
    match unsafe { hugetools_environ.load(Ordering::Relaxed) } {
        0 => core::ptr::null(),
        // SAFETY: the address of libc's `__environ`, read as a whole.
        word => unsafe { (word as *const *const *const c_char).read() },
    }
}

/// Copies the block from the kernel, zero bytes included. `None` if it can't be read or was
/// tried before.
fn copy() -> Option<&'static [u8]> {
    static TRIED: AtomicBool = AtomicBool::new(false);
    /// Bytes; the kernel's limit for arguments plus environment is 6 MiB.
    const ROOM: usize = 8 << 20;
    if TRIED.swap(true, Ordering::Relaxed) {
        return None;
    }
    let file = sys::File::open(c"/proc/self/environ", libc::O_RDONLY).ok()?;
    let at = sys::map_new(ROOM).ok()?;
    // SAFETY: the new mapping, which nobody else has.
    let room = unsafe { core::slice::from_raw_parts_mut(at as *mut u8, ROOM) };
    let len = procfile::fill(&file, room).len();
    let used = len.next_multiple_of(sys::page_size());
    // SAFETY: the rest of the mapping.
    let _ = unsafe { sys::munmap(at + used, ROOM - used) };
    // SAFETY: filled above, and never changed or unmapped.
    Some(unsafe { core::slice::from_raw_parts(at as *const u8, len) })
}

/// The values of our variables, in the order of [`env::VARIABLES`].
#[derive(Debug)]
pub struct Variables([Option<&'static [u8]>; env::VARIABLES.len()]);

impl Variables {
    const NONE: Variables = Variables([None; env::VARIABLES.len()]);

    /// Finds our variables in one pass. If one occurs twice, the first counts, as in `getenv`.
    /// `None` if the environment isn't known yet.
    pub fn find() -> Option<Variables> {
        let mut found = Variables::NONE;
        let block = block();
        if !block.is_null() {
            // SAFETY: libc's own.
            unsafe { each_entry(block, |entry| found.put(entry)) };
            return Some(found);
        }
        match copy() {
            Some(copy) => copy
                .split(|byte| *byte == 0)
                .for_each(|entry| found.put(entry)),
            None if CONSTRUCTOR_RAN.load(Ordering::Acquire) => {}
            None => return None,
        }
        Some(found)
    }

    fn put(&mut self, entry: &'static [u8]) {
        if !entry.starts_with(b"HUGETLB_") {
            return;
        }
        for (name, place) in env::VARIABLES.iter().zip(&mut self.0) {
            if let Some([b'=', value @ ..]) = entry.strip_prefix(name.as_bytes()) {
                place.get_or_insert(value);
            }
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&'static [u8]> {
        let place = env::VARIABLES.iter().position(|known| *known == name)?;
        self.0[place]
    }
}

/// Calls `visit` for each entry of an environment block.
///
/// # Safety
/// The block must be an array of C strings that ends with a null pointer.
unsafe fn each_entry(block: *const *const c_char, mut visit: impl FnMut(&'static [u8])) {
    let mut at = block;
    loop {
        // SAFETY: the null entry has not been reached.
        let entry = unsafe { *at };
        if entry.is_null() {
            return;
        }
        // SAFETY: each entry is a C string.
        visit(unsafe { CStr::from_ptr(entry) }.to_bytes());
        // SAFETY: this entry isn't the null entry, so there is a next one.
        at = unsafe { at.add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_as_getenv_finds_them() {
        let mut found = Variables::NONE;
        found.put(b"HUGETLB_SHMX=1");
        found.put(b"HUGETLB_SHM=yes");
        found.put(b"HUGETLB_SHM=no");
        assert_eq!(found.get(env::SHM), Some(&b"yes"[..]));
        assert_eq!(found.get(env::MORECORE), None);
    }
}
