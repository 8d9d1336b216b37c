//! What this kernel offers, read when it is first needed.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{file, sys};

/// A number that is found out once. Finding it out twice, by two threads at
/// once, does no harm.
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

/// The base page size in bytes.
pub fn page_size() -> usize {
    static SIZE: Lazy = Lazy::new();
    SIZE.get(sys::page_size)
}

/// The kernel's default huge page size in bytes; `None` where it has none.
pub fn default_huge_size() -> Option<usize> {
    static SIZE: Lazy = Lazy::new();
    let size = SIZE.get(|| {
        let mut buffer = [0; 8192];
        let text = file::head(c"/proc/meminfo", &mut buffer);
        let kib = file::tagged(text, b"Hugepagesize:").unwrap_or(0);
        usize::try_from(kib).map_or(0, |kib| kib.saturating_mul(1024))
    });
    (size.is_power_of_two()).then_some(size)
}

/// The size of a transparent huge page in bytes.
pub fn thp_size() -> usize {
    static SIZE: Lazy = Lazy::new();
    SIZE.get(|| {
        let size = file::number(c"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        match size.and_then(|size| usize::try_from(size).ok()) {
            Some(size) if size.is_power_of_two() => size,
            // Before Linux 4.12 it is not told; a page table's worth of pages.
            _ => page_size() * (page_size() / size_of::<u64>()),
        }
    })
}

/// Memory that can be had without swapping, in bytes.
pub fn available_memory() -> usize {
    let mut buffer = [0; 8192];
    let text = file::head(c"/proc/meminfo", &mut buffer);
    let kib = file::tagged(text, b"MemAvailable:").or_else(|| file::tagged(text, b"MemFree:"));
    usize::try_from(kib.unwrap_or(0)).map_or(0, |kib| kib.saturating_mul(1024))
}

/// The machine's memory, in bytes.
pub fn total_memory() -> usize {
    static SIZE: Lazy = Lazy::new();
    SIZE.get(|| {
        let mut buffer = [0; 8192];
        let text = file::head(c"/proc/meminfo", &mut buffer);
        let kib = file::tagged(text, b"MemTotal:").unwrap_or(0);
        usize::try_from(kib).map_or(0, |kib| kib.saturating_mul(1024))
    })
}

/// Memory of this process that devices write to by themselves, in bytes: it
/// must stay where it is.
pub fn pinned_memory() -> usize {
    let kib = status(b"VmPin:").unwrap_or(0);
    usize::try_from(kib).map_or(0, |kib| kib.saturating_mul(1024))
}

/// A number that the kernel says of this process.
fn status(tag: &[u8]) -> Option<u64> {
    let mut buffer = [0; 4096];
    let text = file::head(c"/proc/self/status", &mut buffer);
    file::tagged(text, tag)
}

/// Memory of this process that is swapped out, in bytes; as much as can be where
/// it cannot be told.
pub fn swapped_memory() -> usize {
    let kib = status(b"VmSwap:").and_then(|kib| usize::try_from(kib).ok());
    kib.map_or(usize::MAX, |kib| kib.saturating_mul(1024))
}

/// Whether a filter of system calls is in force, which may end the process for
/// calls that its program does not make (`SystemCallFilter=` of systemd).
pub fn has_filter() -> bool {
    status(b"Seccomp:") != Some(0)
}

/// Private memory of this process that is there, in bytes.
pub fn resident_memory() -> usize {
    let mut buffer = [0; 128];
    let text = file::head(c"/proc/self/statm", &mut buffer);
    let mut pages = text.split(|b| *b == b' ').skip(1).map(file::leading_number);
    match (pages.next().flatten(), pages.next().flatten()) {
        (Some(resident), Some(shared)) => {
            let pages = usize::try_from(resident.saturating_sub(shared)).unwrap_or(usize::MAX);
            pages.saturating_mul(page_size())
        }
        // Without /proc: what it is cannot be said, so it counts as much.
        _ => usize::MAX,
    }
}

/// Whether other threads run beside this one; yes where it cannot be told.
pub fn has_threads() -> bool {
    sys::links(c"/proc/self/task").is_none_or(|links| links != 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert!(thp_size().is_power_of_two() && thp_size() > page_size());
        assert!(default_huge_size().is_none_or(|size| size > page_size()));
    }

    #[test]
    fn a_second_thread_is_seen() {
        // The test runner has threads of its own.
        assert!(has_threads());
        assert!(available_memory() > 0 && available_memory() < total_memory());
        assert!(resident_memory() > 0 && resident_memory() < available_memory());
        assert_eq!(pinned_memory(), 0);
    }

    #[test]
    fn what_is_known_is_not_found_out_again() {
        let lazy = Lazy::new();
        assert_eq!(lazy.get(|| 5), 5);
        assert_eq!(lazy.get(|| 6), 5);
    }
}
