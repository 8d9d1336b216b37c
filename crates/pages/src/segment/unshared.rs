//! Whether text may be copied where no other process can share the copy.
//!
//! The file's own pages are there once for all processes that run it; such a
//! copy is there once for each. So under hugectl it is made only in the program
//! that hugectl itself started, not behind a wrapper or in helpers, and only for
//! a small part of the memory.
//! Without hugectl the program itself has asked for it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::why::Why;
use crate::kernel::facts;
use crate::rt::path::Path;
use crate::{config, sys};

/// Copies take at most this part of the memory that is available.
const PART: usize = 16;

/// How much this process has copied to ordinary memory.
static COPIED: AtomicUsize = AtomicUsize::new(0);

/// Whether a copy of this segment may be made.
///
/// # Errors
/// Why not.
pub fn may_copy() -> Result<(), Why> {
    let Some(copy) = config::get().text_copy else {
        return Ok(());
    };
    if copy.pid != sys::getpid() || !is_running(copy.program) {
        return Err(Why::Wrapper);
    }
    Ok(())
}

/// Counts memory for a copy, where so much may be taken. It does not come back:
/// a copy stays.
///
/// # Errors
/// [`Why::TooMuch`], or [`Why::Untold`].
pub fn take_memory(len: usize) -> Result<(), Why> {
    if config::get().text_copy.is_none() {
        return Ok(());
    }
    let most = facts::available_memory().ok_or(Why::Untold)? / PART;
    match COPIED.load(Ordering::Relaxed).saturating_add(len) <= most {
        true => {
            COPIED.fetch_add(len, Ordering::Relaxed);
            Ok(())
        }
        false => Err(Why::TooMuch),
    }
}

/// Whether this process executes a file.
fn is_running(program: &[u8]) -> bool {
    let text = core::str::from_utf8(program).ok();
    let path = text.and_then(|text| Path::of(format_args!("{text}")));
    let identity = |path: &CStr| sys::identity_of(path);
    let wanted = path.and_then(|path| identity(path.c_str()));
    wanted.is_some() && wanted == identity(c"/proc/self/exe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_maps_is_mapped_elsewhere() {
        let exe = std::env::current_exe().unwrap();
        assert!(is_running(exe.as_os_str().as_encoded_bytes()));
        assert!(!is_running(b"/bin/sh") && !is_running(b"/no/such/file"));
    }
}
