//! Whether text may be copied where no other process can share the copy.
//!
//! The file's own pages are there once for all processes that run it; such a
//! copy is there once for each. So under hugectl it is made only in the program
//! that hugectl itself started, not behind a wrapper or in helpers, only of
//! files that no other process maps, and only for a small part of the memory.
//! Without hugectl the program itself has asked for it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_kernfs::keyed;
use hugetools_kernfs::smaps::records;

use super::load::Load;
use super::why::Why;
use crate::kernel::procfile::each_line;
use crate::kernel::{facts, file_mapping};
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
pub fn may_copy(load: &Load) -> Result<(), Why> {
    let Some(copy) = config::get().text_copy else {
        return Ok(());
    };
    if copy.pid != sys::getpid() || !is_running(copy.program) {
        return Err(Why::Wrapper);
    }
    let mut buffer = [0; 4096];
    let name = file_mapping::file_name(load.range.start, &mut buffer);
    match name.and_then(is_mapped_elsewhere) {
        Some(false) => Ok(()),
        Some(true) => Err(Why::Mapped),
        None => Err(Why::Untold),
    }
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

/// Whether another process maps pages of a file that this one has touched: the
/// beginning of a program or library is touched by whoever loads it. `None`
/// where it cannot be told.
fn is_mapped_elsewhere(name: &[u8]) -> Option<bool> {
    let (mut is_here, mut found) = (false, false);
    let shared = each_line(c"/proc/self/smaps", |line| {
        if let Some(record) = records(line).next() {
            is_here = record.name == name;
            found |= is_here;
        }
        let count = |name| keyed::number_in(line, name).unwrap_or(0);
        let shared = count(b"Shared_Clean:") + count(b"Shared_Dirty:");
        (is_here && shared > 0).then_some(true)
    });
    shared.or_else(|| found.then_some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_maps_is_mapped_elsewhere() {
        let exe = std::env::current_exe().unwrap();
        assert!(is_running(exe.as_os_str().as_encoded_bytes()));
        assert!(!is_running(b"/bin/sh") && !is_running(b"/no/such/file"));
        // Everybody maps libc; nobody else a file that is not there.
        let mut buffer = [0; 4096];
        let libc = libc::getpid as *const () as usize;
        let name = file_mapping::file_name(libc, &mut buffer).unwrap();
        assert_eq!(is_mapped_elsewhere(name), Some(true));
        assert_eq!(is_mapped_elsewhere(b"/no/such/file"), None);
    }
}
