//! Advises `mmap(MAP_SHARED)` of tmpfs files (`memfd_create(2)`, `shm_open(3)`) to use transparent
//! huge pages. Pool pages can't back them: the program sets the length, uses system calls on the
//! file, and other processes map parts of it.
#![expect(unsafe_code, reason = "advises mappings of the program's")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hugetools_contract::env::Fallback;
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::mountinfo::Mount;
use hugetools_kernfs::number;

use crate::config::{self, starter_message};
use crate::kernel::{facts, procfile};
use crate::policy::start_facts;
use crate::policy::thp::{self, NoThp};
use crate::rt::message::Amount;
use crate::sys;

/// Whether to advise a mapping if its file turns out to be on a tmpfs.
#[inline]
pub fn is_eligible(len: usize, prot: c_int, flags: c_int) -> bool {
    let config = config::get();
    let is_shared = matches!(
        flags & libc::MAP_TYPE,
        libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE
    );
    let is_file = flags & (libc::MAP_ANONYMOUS | libc::MAP_HUGETLB) == 0;
    let is_data = prot & libc::PROT_EXEC == 0 && prot != libc::PROT_NONE;
    config.shm.is_some()
        && config.fallback == Fallback::Thp
        && is_shared
        && is_file
        && is_data
        && len >= facts::thp_size()
}

/// Advises a new mapping if its file is on a tmpfs.
pub fn mapped(addr: usize, len: usize, fd: c_int) {
    let Some(device) = sys::tmpfs_device(fd) else {
        return;
    };
    start_facts::take();
    if thp::is_scarce() {
        return;
    }
    // SAFETY: the advice changes no contents.
    if unsafe { sys::madvise(addr, len, libc::MADV_HUGEPAGE) }.is_ok() {
        say_why_not(device, len);
    }
}

/// Reports once why a mapping gets no huge pages, if it gets none. Checks a device only once in a
/// row: to find its mount costs more than most mappings.
fn say_why_not(device: (u64, u64), len: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    static CHECKED: AtomicU64 = AtomicU64::new(u64::MAX);
    let number = device.0 << 32 | device.1;
    if SAID.load(Ordering::Relaxed) || CHECKED.swap(number, Ordering::Relaxed) == number {
        return;
    }
    let Some(why) = why_not(device) else {
        return;
    };
    if !SAID.swap(true, Ordering::Relaxed) {
        let amount = Amount(len);
        starter_message::warn(
            Kind::SharedFile,
            format_args!("shared memory in a file: {amount} on base pages: {why}"),
        );
    }
}

fn why_not(device: (u64, u64)) -> Option<&'static str> {
    const NO_ADVICE: &str = "its tmpfs is mounted without huge=advise (to change that, for \
                             /dev/shm: mount -o remount,huge=advise /dev/shm)";
    match procfile::if_allowed(|| Some(mount_serves(device))).flatten() {
        Some(true) => None,
        Some(false) => Some(NO_ADVICE),
        // Files of `memfd_create` have no mount.
        None => thp::serves_shared().err().map(NoThp::reason),
    }
}

/// Whether a device is mounted with huge pages; `None` without a mount.
fn mount_serves(device: (u64, u64)) -> Option<bool> {
    procfile::each_line(c"/proc/self/mountinfo", |line| {
        let mount = Mount::of_mountinfo(line)?;
        let is_it = mount.fs_type == b"tmpfs" && numbers(mount.device) == Some(device);
        is_it.then(|| serves(&mount))
    })
}

fn serves(mount: &Mount<'_>) -> bool {
    [&b"huge=advise"[..], b"huge=always", b"huge=within_size"]
        .iter()
        .any(|option| mount.has_fs_option(option))
}

/// Parses `98:0`.
fn numbers(device: &[u8]) -> Option<(u64, u64)> {
    let at = device.iter().position(|byte| *byte == b':')?;
    let (major, minor) = device.split_at(at);
    Some((number::leading(major)?, number::leading(&minor[1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_that_serve() {
        let line = |options: &str| format!("31 1 0:27 / /dev/shm rw - tmpfs tmpfs {options}");
        for (options, is) in [
            ("rw,size=1g", false),
            ("rw,huge=advise", true),
            ("rw,huge=never,mode=1777", false),
            ("rw,huge=within_size", true),
        ] {
            let line = line(options);
            let mount = Mount::of_mountinfo(line.as_bytes()).unwrap();
            assert_eq!(serves(&mount), is, "{options}");
            assert_eq!(numbers(mount.device), Some((0, 27)));
        }
        assert_eq!(numbers(b"x"), None);
    }
}
