//! Facts about the kernel and the process, read when needed.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_kernfs::{keyed, number};

use crate::kernel::cgroup::{self, Headroom};
use crate::kernel::procfile;
use crate::sys::{self, Filter, SpaceLimit};

/// A number that is cached once known. Two threads may both read it.
struct Lazy(AtomicUsize);

impl Lazy {
    const UNKNOWN: usize = usize::MAX;

    const fn new() -> Lazy {
        Lazy(AtomicUsize::new(Lazy::UNKNOWN))
    }

    fn get(&self, find: impl FnOnce() -> usize) -> usize {
        match self.0.load(Ordering::Relaxed) {
            Lazy::UNKNOWN => {
                let found = find();
                self.0.store(found, Ordering::Relaxed);
                found
            }
            known => known,
        }
    }
}

/// The kernel's default huge page size in bytes.
pub fn default_huge_size() -> Option<usize> {
    static SIZE: Lazy = Lazy::new();
    let size = SIZE.get(|| memory(b"Hugepagesize:").unwrap_or(Lazy::UNKNOWN));
    size.is_power_of_two().then_some(size)
}

/// The size of a transparent huge page in bytes.
pub fn thp_size() -> usize {
    static SIZE: Lazy = Lazy::new();
    SIZE.get(|| {
        let path = c"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
        let size = procfile::if_allowed(|| procfile::number(path));
        match size.and_then(|size| usize::try_from(size).ok()) {
            Some(size) if size.is_power_of_two() => size,
            // The file is invisible, as in a chroot: assume the memory that one page table maps.
            _ => sys::page_size() * (sys::page_size() / size_of::<u64>()),
        }
    })
}

/// Memory available without swapping, in bytes.
pub fn available_memory() -> Option<usize> {
    memory(b"MemAvailable:").or_else(|| memory(b"MemFree:"))
}

/// Whether `RLIMIT_DATA` was set when this was first called.
pub fn has_data_limit() -> bool {
    static HAS: Lazy = Lazy::new();
    HAS.get(|| usize::from(matches!(sys::data_limit(), SpaceLimit::Bytes(_)))) == 1
}

/// Ordinary memory that the machine and the memory control groups leave this process, in
/// bytes; `None` if unknown. An invisible group, as in a chroot, counts as no limit.
pub fn room() -> Option<usize> {
    let available = available_memory()?;
    match cgroup::memory_left() {
        Headroom::NoLimit | Headroom::Hidden => Some(available),
        Headroom::Bytes(left) => Some(available.min(left)),
        Headroom::Unknown => None,
    }
}

fn memory(tag: &[u8]) -> Option<usize> {
    bytes_in(c"/proc/meminfo", tag)
}

/// Bytes of this process that are pinned for devices. They must not move.
pub fn pinned_memory() -> Option<usize> {
    bytes_in(STATUS, b"VmPin:")
}

const STATUS: &CStr = c"/proc/self/status";

/// A line in kB, converted to bytes.
fn bytes_in(path: &CStr, tag: &[u8]) -> Option<usize> {
    let kib = procfile::if_allowed(|| procfile::tagged_in(path, tag))?;
    usize::try_from(kib).ok()?.checked_mul(1024)
}

/// State of the process, read in one pass at the start.
pub(crate) struct StartState {
    /// Whether transparent huge pages are enabled for it: 1 or 0; `None` before Linux 5.0.
    pub(crate) thp: Option<u64>,
    /// Number of seccomp filters; 0 if unknown (before Linux 5.9), `None` without a filter.
    pub(crate) filters: Option<u64>,
}

/// Reads the state. An unknown filter state counts as a filter.
pub(crate) fn start_state() -> StartState {
    let (mut seccomp, mut filters, mut thp) = (None, None, None);
    procfile::if_allowed(|| {
        procfile::each_line(STATUS, |line| {
            seccomp = seccomp.or_else(|| keyed::number_in(line, b"Seccomp:"));
            filters = filters.or_else(|| keyed::number_in(line, b"Seccomp_filters:"));
            thp = thp.or_else(|| keyed::number_in(line, b"THP_enabled:"));
            // Ends the pass once all are known.
            thp.and(seccomp)
                .and(filters.or(seccomp.filter(|mode| *mode == 0)))
        })
    });
    let has_none = seccomp == Some(0) || !has_seccomp();
    if has_none {
        sys::note_no_filter();
    }
    let filters = (!has_none).then_some(filters.unwrap_or(0));
    StartState { thp, filters }
}

/// Whether a seccomp filter is in force (`SystemCallFilter=` of systemd), which may kill the
/// process for calls of ours; `true` if unknown. Finds filters set by a raw system call, too.
pub fn has_filter() -> bool {
    sys::filter() != Filter::None
        || procfile::if_allowed(|| procfile::tagged_in(STATUS, b"Seccomp:")) != Some(0)
            && has_seccomp()
}

/// Whether the kernel supports seccomp: `Threads:` without `Seccomp:` means no.
fn has_seccomp() -> bool {
    procfile::if_allowed(|| procfile::tagged_in(STATUS, b"Threads:")).is_none()
        || procfile::if_allowed(|| procfile::tagged_in(STATUS, b"Seccomp:")).is_some()
}

/// Virtual size of this process in bytes.
pub fn address_space() -> Option<usize> {
    let text = |buffer: &mut [u8; 32]| number::leading(procfile::head(c"/proc/self/statm", buffer));
    let pages = procfile::if_allowed(|| text(&mut [0; 32]))?;
    usize::try_from(pages).ok()?.checked_mul(sys::page_size())
}

/// Whether other threads run; `true` if unknown.
pub fn has_threads() -> bool {
    threads() != 1
}

/// Number of threads; 0 if unknown.
pub fn threads() -> usize {
    // A directory has two links, plus one for each subdirectory.
    match sys::link_count(c"/proc/self/task") {
        Some(links) => usize::try_from(links)
            .unwrap_or(usize::MAX)
            .saturating_sub(2),
        None => usize::from(sys::has_one_thread() == Some(true)),
    }
}
