//! The environment block, as the program got it.
#![expect(unsafe_code, reason = "reads the environment block")]

use core::ffi::{CStr, c_char};

use hugetools_contract::env;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Whether libc knows the environment already.
pub fn is_there() -> bool {
    // SAFETY: a word of libc's, read as a whole.
    let block = unsafe { environ };
    !block.is_null()
}

/// The values of our variables, found in one walk through the environment.
#[derive(Debug)]
pub struct Variables([Option<&'static [u8]>; env::VARIABLES.len()]);

impl Variables {
    /// Finds them as `getenv` does: the first of several counts.
    pub fn find() -> Variables {
        let mut found = Variables([None; env::VARIABLES.len()]);
        // SAFETY: a word of libc's, read as a whole.
        let mut at = unsafe { environ };
        if at.is_null() {
            return found;
        }
        loop {
            // SAFETY: the block is an array of pointers that ends with a null
            // one.
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

    fn put(&mut self, entry: &'static [u8]) {
        for (name, value) in env::VARIABLES.iter().zip(&mut self.0) {
            let rest = entry.strip_prefix(name.as_bytes());
            if let Some([b'=', rest @ ..]) = rest {
                value.get_or_insert(rest);
            }
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&'static [u8]> {
        let place = env::VARIABLES.iter().position(|known| *known == name)?;
        self.0[place]
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
        let mut found = Variables([None; env::VARIABLES.len()]);
        found.put(b"HUGETLB_SHMX=1");
        found.put(b"HUGETLB_SHM=yes");
        found.put(b"HUGETLB_SHM=no");
        assert_eq!(found.get(env::SHM), Some(&b"yes"[..]));
        assert_eq!(found.get(env::MORECORE), None);
        assert!(is_one_of_ours(c"HUGETLB_SHM=1".as_ptr()));
        assert!(!is_one_of_ours(c"HUGETLB".as_ptr()) && !is_one_of_ours(c"".as_ptr()));
    }

    #[test]
    fn this_process_has_an_environment() {
        assert!(is_there());
        assert_eq!(Variables::find().get("PATH"), None);
    }
}
