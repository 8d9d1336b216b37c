//! Who may write to the program's memory besides its threads: a device or a ring
//! that it has handed buffers to, and that goes by the pages, not by their
//! addresses.

use core::ffi::{CStr, c_int};

use crate::kernel::facts;
use crate::kernel::procfile::each_line;
use crate::rt::path::Path;
use crate::sys::{self, Dir};

/// Devices that only write while a system call waits for it.
const HARMLESS: [&[u8]; 11] = [
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
    b"/dev/userfaultfd",
];

/// Who may write by page, in the order of how much each can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writers {
    /// Nobody.
    None,
    /// Files that a device reads straight into buffers (`O_DIRECT`): while a
    /// system call of a thread waits for that.
    Calls,
    /// It cannot be told.
    Unknown,
    /// A ring or a device, at any time.
    Anytime,
}

impl Writers {
    /// Whether memory is written just now, as far as can be told: of this thread
    /// no call waits.
    pub fn may_write_now(self) -> bool {
        match self {
            Writers::None | Writers::Unknown => false,
            Writers::Calls => facts::has_threads(),
            Writers::Anytime => true,
        }
    }
}

/// Who may.
pub fn writers() -> Writers {
    let pinned = match facts::pinned_memory() {
        Some(0) => Writers::None,
        Some(_) => return Writers::Anytime,
        None => Writers::Unknown,
    };
    let rings = match has_rings() {
        Some(true) => return Writers::Anytime,
        Some(false) => Writers::None,
        None => Writers::Unknown,
    };
    pinned.max(rings).max(of_files())
}

/// Who may by now, where nobody could a moment ago: for whoever asks at each page.
/// What is mapped is not read each time, since there may be much of it: a ring that is
/// no open file writes by page from files past the cache, which are seen.
pub fn newcomers() -> Writers {
    match facts::pinned_memory() {
        Some(0) => of_files(),
        Some(_) => Writers::Anytime,
        None => of_files().max(Writers::Unknown),
    }
}

/// What the open files come to: each may be a ring, a device which may be given
/// buffers, or a file that a device reads straight into them.
fn of_files() -> Writers {
    let mut most = Writers::None;
    if let Ok(dir) = Dir::open(c"/proc/self/fd") {
        dir.each(|name| most = most.max(of_file(name)));
        return most;
    }
    // Without a free descriptor: those that are in use can be asked one by one.
    if sys::links(c"/proc/self/fd").is_none() {
        return Writers::Unknown;
    }
    for number in 0..MOST_NUMBERS {
        let Some(path) = Path::of(format_args!("{number}")) else {
            continue;
        };
        most = most.max(of_file(path.c_str()));
    }
    most
}

/// So many descriptors are asked one by one.
const MOST_NUMBERS: i32 = 4096;

/// What an entry of `/proc/self/fd` comes to.
fn of_file(name: &CStr) -> Writers {
    let mut buffer = [0; 256];
    let text = name.to_str().unwrap_or_default();
    let path = Path::of(format_args!("/proc/self/fd/{text}"));
    let len = path.and_then(|path| sys::read_link(path.c_str(), &mut buffer).ok());
    let target = &buffer[..len.unwrap_or(0)];
    if target.starts_with(b"socket:") {
        return of_socket(name);
    }
    let is_harmless = || HARMLESS.iter().any(|known| target.starts_with(known));
    if target == b"anon_inode:[io_uring]" || target.starts_with(b"/dev/") && !is_harmless() {
        return Writers::Anytime;
    }
    // Pipes and the like are never read past the cache.
    match target.starts_with(b"/") && !is_harmless() && is_direct(name) {
        true => Writers::Calls,
        false => Writers::None,
    }
}

/// Whether an entry of `/proc/self/fd` was opened with `O_DIRECT`.
fn is_direct(name: &CStr) -> bool {
    let flags = number(name).and_then(sys::open_flags);
    flags.is_some_and(|flags| flags & libc::O_DIRECT != 0)
}

/// What a socket comes to: to memory that was registered with one of `AF_XDP` the network
/// device writes, and it does not count as pinned.
fn of_socket(name: &CStr) -> Writers {
    match number(name).and_then(sys::socket_family) {
        Some(libc::AF_XDP) => Writers::Anytime,
        _ => Writers::None,
    }
}

fn number(name: &CStr) -> Option<c_int> {
    name.to_str().ok()?.parse().ok()
}

/// Whether there is a ring that need not be an open file, since it is mapped: one of
/// `io_setup(2)`, or one of `io_uring_setup(2)` whose descriptor was registered with it
/// and closed. `None` where it cannot be told.
fn has_rings() -> Option<bool> {
    let mut any = false;
    let ring = |line: &[u8]| {
        any = true;
        is_ring(line).then_some(())
    };
    let found = each_line(c"/proc/self/maps", ring).is_some();
    any.then_some(found)
}

/// Whether a line of `maps` is about one.
fn is_ring(line: &[u8]) -> bool {
    line.ends_with(b"/[aio] (deleted)") || line.ends_with(b" anon_inode:[io_uring]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_process_is_alone() {
        assert_eq!(has_rings(), Some(false));
        assert_eq!(of_file(c"."), Writers::None);
        assert_eq!(of_file(c"no such entry"), Writers::None);
        assert!(!is_direct(c"0") && !is_direct(c"no such entry"));
    }

    #[test]
    fn a_socket_is_asked_for_its_family() {
        use std::os::fd::AsRawFd;
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let fd = one.as_raw_fd();
        assert_eq!(sys::socket_family(fd), Some(libc::AF_UNIX));
        let name = std::ffi::CString::new(fd.to_string()).unwrap();
        assert_eq!(of_file(&name), Writers::None);
        let file = sys::File::open(c"/proc/self/maps", libc::O_RDONLY).unwrap();
        assert_eq!(sys::socket_family(file.fd()), None);
    }

    #[test]
    fn rings_are_told_by_their_mappings() {
        let line = |name: &str| format!("7f00-7f01 rw-s 00000000 00:10 1077 {name}");
        for ring in [
            "/[aio] (deleted)",
            "                  anon_inode:[io_uring]",
        ] {
            assert!(is_ring(line(ring).as_bytes()));
        }
        for other in [
            "/tmp/aio",
            "anon_inode:[perf_event]",
            "/tmp/anon_inode:[io_uring]",
        ] {
            assert!(!is_ring(line(other).as_bytes()));
        }
    }

    #[test]
    fn a_file_past_the_cache_is_seen() {
        use std::os::unix::fs::OpenOptionsExt;
        let name = std::env::current_exe().unwrap();
        let mut options = std::fs::OpenOptions::new();
        let Ok(file) = options.read(true).custom_flags(libc::O_DIRECT).open(name) else {
            return;
        };
        assert!(of_files() >= Writers::Calls && newcomers() >= Writers::Calls);
        drop(file);
    }
}
