//! Who may write to the program's memory beside its threads: a device or a ring
//! that it has handed buffers to, and that goes by the pages, not by their
//! addresses.

use core::ffi::CStr;

use crate::facts;
use crate::file::{self, Path, each_line};
use crate::sys::{self, Dir};

/// Devices that only write while a system call waits for it.
const HARMLESS: [&[u8]; 10] = [
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
];

/// Whether there is anything that might. Where it cannot be told, yes.
pub fn may_be_written() -> bool {
    facts::pinned_memory() > 0 || has_device() || has_aio()
}

/// Whether a file is open that is a ring, a device which may be given buffers, or
/// a file that a device reads straight into them.
fn has_device() -> bool {
    let Ok(dir) = Dir::open(c"/proc/self/fd") else {
        return true;
    };
    let mut found = false;
    dir.each(|name| found |= is_device(name) || is_direct(name));
    found
}

/// Whether an entry of `/proc/self/fd` is such a file.
fn is_device(name: &CStr) -> bool {
    let mut buffer = [0; 256];
    let name = name.to_str().unwrap_or_default();
    let path = Path::of(format_args!("/proc/self/fd/{name}"));
    let len = path.and_then(|path| sys::read_link(path.c_str(), &mut buffer).ok());
    let target = &buffer[..len.unwrap_or(0)];
    let is_harmless = || HARMLESS.iter().any(|known| target.starts_with(known));
    target == b"anon_inode:[io_uring]" || target.starts_with(b"/dev/") && !is_harmless()
}

/// Whether an entry of `/proc/self/fd` was opened with `O_DIRECT`.
fn is_direct(name: &CStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let Some(path) = Path::of(format_args!("/proc/self/fdinfo/{name}")) else {
        return true;
    };
    let mut buffer = [0; 512];
    let text = file::head(path.c_str(), &mut buffer);
    let mut lines = text.split(|byte| *byte == b'\n');
    let flags = lines.find_map(|line| line.strip_prefix(b"flags:"));
    let text = flags.and_then(|text| core::str::from_utf8(text.trim_ascii()).ok());
    let flags = text.and_then(|text| u32::from_str_radix(text, 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DIRECT.unsigned_abs() != 0)
}

/// Whether `io_setup(2)` was called: its ring is mapped.
fn has_aio() -> bool {
    let ring = |line: &[u8]| line.ends_with(b"/[aio] (deleted)").then_some(());
    each_line(c"/proc/self/maps", ring).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_process_is_alone() {
        assert!(!has_aio());
        assert!(!is_device(c".") && !is_device(c"no such entry"));
        assert!(!is_direct(c"0") && !is_direct(c"no such entry"));
    }
}
