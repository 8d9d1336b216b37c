//! The environment of this process as the kernel was given it.
#![expect(unsafe_code, reason = "std leaves out what is no variable")]

use std::ffi::{CStr, OsStr, OsString, c_char};
use std::os::unix::ffi::OsStrExt;

unsafe extern "C" {
    /// Ends with a null pointer; one itself where somebody has cleared all.
    static environ: *const *const c_char;
}

/// All entries in their order: those without `=`, too, which `execve(2)` lets pass.
pub(crate) fn entries() -> Vec<OsString> {
    let mut all = Vec::new();
    // SAFETY: this process has one thread, so nobody changes it meanwhile.
    let mut place = unsafe { environ };
    while !place.is_null() {
        // SAFETY: within the list, whose end has not been met yet.
        let entry = unsafe { *place };
        if entry.is_null() {
            break;
        }
        // SAFETY: an entry is a string that ends in zero.
        let entry = unsafe { CStr::from_ptr(entry) };
        all.push(OsStr::from_bytes(entry.to_bytes()).to_owned());
        // SAFETY: there is one more behind what is not the end.
        place = unsafe { place.add(1) };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_among_them() {
        let all = entries();
        for (name, value) in std::env::vars_os() {
            let entry = [name, value].join(OsStr::new("="));
            assert!(all.contains(&entry), "{entry:?}");
        }
    }
}
