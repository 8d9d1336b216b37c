//! The environment block, as the program got it.
//!
//! Not by libc's `environ`: that is null until libc's own constructor has run,
//! before which ours and those of others may, and a program may have a variable
//! of that name. The block is what glibc gives to each constructor; for those
//! who ask earlier, and under musl, which gives none, libc's own word for it
//! (`__environ`), and where that is null the kernel's copy.
#![expect(unsafe_code, reason = "reads the environment block")]

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use hugetools_contract::env;

use crate::kernel::procfile;
use crate::rt::weak;
use crate::{sys, word};

word!(hugetools_environ);

/// The block that the constructor got.
static GIVEN: AtomicPtr<*const c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the constructor has run: what is not known now never will be.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Notes the block that the constructor got, if libc is one that gives it.
///
/// # Safety
/// Under glibc it must be null or an array of C strings that ends with a null
/// pointer; elsewhere it is not looked at.
pub unsafe fn remember(block: *const *const c_char) {
    if weak::is_glibc() {
        GIVEN.store(block.cast_mut(), Ordering::Release);
    }
    BEGUN.store(true, Ordering::Release);
}

/// Whether this library's constructor has run.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Acquire)
}

/// The block in the program's memory; null where nobody has told of it yet.
fn block() -> *const *const c_char {
    let given = GIVEN.load(Ordering::Acquire);
    if !given.is_null() {
        return given;
    }
    // SAFETY: a word of this library, written by the loader before any of its
    // code runs.
    match unsafe { hugetools_environ.load(Ordering::Relaxed) } {
        0 => core::ptr::null(),
        // SAFETY: the address of a word of libc's, read as a whole.
        word => unsafe { (word as *const *const *const c_char).read() },
    }
}

/// The kernel's copy of the block: all strings, each with its zero byte. `None`
/// where it cannot be read, and where it was tried before.
fn copy() -> Option<&'static [u8]> {
    static TRIED: AtomicBool = AtomicBool::new(false);
    /// The kernel lets arguments and environment be 6 MiB at most.
    const ROOM: usize = 8 << 20;
    if TRIED.swap(true, Ordering::Relaxed) {
        return None;
    }
    let file = sys::File::open(c"/proc/self/environ", libc::O_RDONLY).ok()?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping replaces nothing.
    let at = unsafe { sys::mmap(0, ROOM, prot, flags, -1, 0) }.ok()?;
    // SAFETY: the new mapping, which nobody else has.
    let room = unsafe { core::slice::from_raw_parts_mut(at as *mut u8, ROOM) };
    let len = procfile::fill(&file, room).len();
    let used = len.next_multiple_of(sys::page_size());
    // SAFETY: the part of the mapping behind what was read.
    let _ = unsafe { sys::munmap(at + used, ROOM - used) };
    // SAFETY: read above; it is never changed or given back.
    Some(unsafe { core::slice::from_raw_parts(at as *const u8, len) })
}

/// The values of our variables, found in one walk through the environment.
#[derive(Debug)]
pub struct Variables {
    /// Names and values of those that are there.
    found: [(&'static str, &'static [u8]); env::VARIABLES.len()],
    count: usize,
}

impl Variables {
    const NONE: Variables = Variables {
        found: [("", &[]); env::VARIABLES.len()],
        count: 0,
    };

    /// Finds them as `getenv` does: the first of several counts. `None` where
    /// the environment is not known yet.
    pub fn find() -> Option<Variables> {
        let block = block();
        if !block.is_null() {
            // SAFETY: as whoever told of it says.
            return Some(unsafe { Variables::in_block(block) });
        }
        match copy() {
            Some(copy) => Some(Variables::in_copy(copy)),
            None => has_begun().then_some(Variables::NONE),
        }
    }

    /// # Safety
    /// The block must be an array of C strings that ends with a null pointer.
    unsafe fn in_block(mut at: *const *const c_char) -> Variables {
        let mut found = Variables::NONE;
        loop {
            // SAFETY: the null entry has not been reached.
            let entry = unsafe { *at };
            if entry.is_null() {
                return found;
            }
            if is_one_of_ours(entry) {
                // SAFETY: each entry is a C string.
                found.put(unsafe { CStr::from_ptr(entry) }.to_bytes());
            }
            // SAFETY: the null entry has not been reached, so there is a next
            // one.
            at = unsafe { at.add(1) };
        }
    }

    fn in_copy(copy: &'static [u8]) -> Variables {
        let mut found = Variables::NONE;
        copy.split(|byte| *byte == 0)
            .for_each(|entry| found.put(entry));
        found
    }

    fn put(&mut self, entry: &'static [u8]) {
        let value = |name: &str| match entry.strip_prefix(name.as_bytes()) {
            Some([b'=', value @ ..]) => Some(value),
            _ => None,
        };
        let found = (env::VARIABLES.iter()).find_map(|name| Some((*name, value(name)?)));
        let Some((name, value)) = found.filter(|(name, _)| self.get(name).is_none()) else {
            return;
        };
        // There is room for each name once.
        if let Some(place) = self.found.get_mut(self.count) {
            *place = (name, value);
            self.count += 1;
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&'static [u8]> {
        let mut found = self.found.iter().take(self.count);
        found.find_map(|(known, value)| (*known == name).then_some(*value))
    }
}

/// Whether an entry begins as our variables do; most do not from the first
/// letter on.
fn is_one_of_ours(entry: *const c_char) -> bool {
    b"HUGETLB_".iter().enumerate().all(|(i, letter)| {
        // SAFETY: all bytes before this one are letters, so the string has not
        // ended before it.
        let byte = unsafe { entry.add(i) };
        // SAFETY: likewise.
        unsafe { byte.cast::<u8>().read() == *letter }
    })
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
        assert!(is_one_of_ours(c"HUGETLB_SHM=1".as_ptr()));
        assert!(!is_one_of_ours(c"HUGETLB".as_ptr()) && !is_one_of_ours(c"".as_ptr()));
    }

    #[test]
    fn the_copy_of_the_kernel_holds_the_same() {
        let found = Variables::in_copy(b"A=1\0HUGETLB_SHM=2MB\0HUGETLB_SHM=no\0");
        assert_eq!(found.get(env::SHM), Some(&b"2MB"[..]));
        assert!(Variables::in_copy(b"").get(env::SHM).is_none());
        let copy = copy().unwrap();
        // SAFETY: the block of this process, which is not empty.
        let first = unsafe { block().read() };
        // SAFETY: a C string.
        let first = unsafe { CStr::from_ptr(first) };
        assert_eq!(copy.split(|b| *b == 0).next(), Some(first.to_bytes()));
        // Once is enough.
        assert!(super::copy().is_none());
    }

    #[test]
    fn this_process_has_an_environment() {
        assert!(!block().is_null());
        assert_eq!(Variables::find().unwrap().get("PATH"), None);
    }
}
