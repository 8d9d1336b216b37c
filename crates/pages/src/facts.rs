//! What this kernel offers, read when it is first needed.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{file, sys, thp};

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

/// Why transparent huge pages are out of reach, for private or shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoThp {
    /// The kernel has none.
    Absent,
    /// `transparent_hugepage/enabled` is `never`.
    Never,
    /// `transparent_hugepage/shmem_enabled` does not serve `madvise`.
    SharedNever,
    /// `prctl(PR_SET_THP_DISABLE)` is in force.
    Disabled,
    /// The memory control group has too little left for whole huge pages.
    Scarce,
}

impl NoThp {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            NoThp::Absent => "this kernel has no transparent huge pages",
            NoThp::Never => "/sys/kernel/mm/transparent_hugepage/enabled is never",
            NoThp::SharedNever => {
                "/sys/kernel/mm/transparent_hugepage/shmem_enabled does not say advise"
            }
            NoThp::Disabled => "transparent huge pages are disabled by prctl",
            NoThp::Scarce => "the memory control group has little left",
        }
    }
}

/// Whether private memory gets transparent huge pages.
pub fn private_thp() -> Result<(), NoThp> {
    if sys::thp_disabled() {
        return Err(NoThp::Disabled);
    }
    offered_thp()?;
    match thp::is_scarce() {
        true => Err(NoThp::Scarce),
        false => Ok(()),
    }
}

/// Whether this machine gives private memory transparent huge pages.
pub fn offered_thp() -> Result<(), NoThp> {
    let mut buffer = [0; 64];
    match file::head(c"/sys/kernel/mm/transparent_hugepage/enabled", &mut buffer) {
        [] => Err(NoThp::Absent),
        text if contains(text, b"[never]") => Err(NoThp::Never),
        _ => Ok(()),
    }
}

/// Whether shared memory gets transparent huge pages.
pub fn shared_thp() -> Result<(), NoThp> {
    if sys::thp_disabled() {
        return Err(NoThp::Disabled);
    }
    let mut buffer = [0; 96];
    let path = c"/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    match file::head(path, &mut buffer) {
        [] => Err(NoThp::Absent),
        text if contains(text, b"[never]") || contains(text, b"[deny]") => Err(NoThp::SharedNever),
        _ => Ok(()),
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
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
    let mut buffer = [0; 4096];
    let text = file::head(c"/proc/self/status", &mut buffer);
    let kib = file::tagged(text, b"VmPin:").unwrap_or(0);
    usize::try_from(kib).map_or(0, |kib| kib.saturating_mul(1024))
}

/// Whether a filter of system calls is in force, which may end the process for
/// calls that its program does not make (`SystemCallFilter=` of systemd).
pub fn has_filter() -> bool {
    let mut buffer = [0; 4096];
    let text = file::head(c"/proc/self/status", &mut buffer);
    file::tagged(text, b"Seccomp:") != Some(0)
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
