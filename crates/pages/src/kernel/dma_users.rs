//! Devices and io_uring rings that write to physical pages: if memory moves, writes are lost.

use core::ffi::{CStr, c_int};

use crate::kernel::facts;
use crate::rt::path::Path;
use crate::sys::{self, Dir};

/// Devices that write only during a system call, and usual mount points below `/dev`.
const HARMLESS: [&[u8]; 13] = [
    b"/dev/null",
    b"/dev/zero",
    b"/dev/full",
    b"/dev/random",
    b"/dev/urandom",
    b"/dev/tty",
    b"/dev/pts/",
    b"/dev/ptmx",
    b"/dev/console",
    b"/dev/shm/",
    b"/dev/hugepages",
    b"/dev/mqueue/",
    b"/dev/userfaultfd",
];

/// Whether memory is pinned, or a ring, a device or a file with `O_DIRECT` is open: another thread
/// or `io_submit(2)` may be reading such a file. `false` if unknown.
pub fn may_write() -> bool {
    if facts::pinned_memory().is_some_and(|pinned| pinned > 0) {
        return true;
    }
    let mut any = false;
    if let Ok(dir) = Dir::open(c"/proc/self/fd") {
        dir.for_each_name(|name| any |= is_writer(name));
    }
    any
}

/// Whether the file of an entry in `/proc/self/fd` may write to memory by DMA.
fn is_writer(name: &CStr) -> bool {
    let mut buffer = [0; 64];
    let text = name.to_str().unwrap_or_default();
    let path = Path::of(format_args!("/proc/self/fd/{text}"));
    let len = path.and_then(|path| sys::read_link(path.c_str(), &mut buffer).ok());
    let target = &buffer[..len.unwrap_or(0)];
    match target {
        b"anon_inode:[io_uring]" => true,
        _ if target.starts_with(b"/dev/") => !is_harmless(target),
        _ => target.starts_with(b"/") && is_direct(text),
    }
}

fn is_harmless(file: &[u8]) -> bool {
    HARMLESS.iter().any(|known| file.starts_with(known))
}

fn is_direct(number: &str) -> bool {
    let flags = number.parse::<c_int>().ok().and_then(sys::open_flags);
    flags.is_some_and(|flags| flags & libc::O_DIRECT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_mounts_below_dev_are_no_devices() {
        assert!(is_harmless(b"/dev/hugepages/guest (deleted)") && is_harmless(b"/dev/shm/x"));
        assert!(!is_harmless(b"/dev/infiniband/uverbs0"));
    }

    #[test]
    fn only_a_file_with_o_direct_counts() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::OpenOptionsExt;
        assert!(!is_writer(c".") && !is_writer(c"no such entry"));
        let name = std::env::current_exe().unwrap();
        let may_write = |flags| {
            let mut options = std::fs::OpenOptions::new();
            let file = options.read(true).custom_flags(flags).open(&name).ok()?;
            let number = std::ffi::CString::new(file.as_raw_fd().to_string()).unwrap();
            Some(is_writer(&number))
        };
        assert_eq!(may_write(0), Some(false));
        assert!(may_write(libc::O_DIRECT).unwrap_or(true));
    }
}
