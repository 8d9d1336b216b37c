//! What this kernel offers, read when it is first needed.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_kernfs::{keyed, number};

use crate::kernel::cgroup::{self, Left};
use crate::kernel::procfile;
use crate::sys::{self, Filter, SpaceLimit};

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

/// The kernel's default huge page size in bytes; `None` where it has none.
pub fn default_huge_size() -> Option<usize> {
    static SIZE: Lazy = Lazy::new();
    let size = SIZE.get(|| memory(b"Hugepagesize:").unwrap_or_else(none_or_unknown));
    (size.is_power_of_two() && size != Lazy::UNKNOWN).then_some(size)
}

/// What is kept of a line that was not found: none where the file could be read,
/// else it is looked for again.
fn none_or_unknown() -> usize {
    match available_memory() {
        Some(_) => 0,
        None => Lazy::UNKNOWN,
    }
}

/// The size of a transparent huge page in bytes.
pub fn thp_size() -> usize {
    static SIZE: Lazy = Lazy::new();
    SIZE.get(|| {
        let path = c"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
        let size = procfile::look(|| procfile::number(path));
        match size.and_then(|size| usize::try_from(size).ok()) {
            Some(size) if size.is_power_of_two() => size,
            // Before Linux 4.12 it is not told; a page table's worth of pages.
            _ => sys::page_size() * (sys::page_size() / size_of::<u64>()),
        }
    })
}

/// Memory that can be had without swapping, in bytes.
pub fn available_memory() -> Option<usize> {
    memory(b"MemAvailable:").or_else(|| memory(b"MemFree:"))
}

/// The machine's memory, in bytes.
pub fn total_memory() -> Option<usize> {
    static SIZE: Lazy = Lazy::new();
    let size = SIZE.get(|| memory(b"MemTotal:").unwrap_or_else(none_or_unknown));
    (size != 0 && size != Lazy::UNKNOWN).then_some(size)
}

/// Whether the process's data was limited (`RLIMIT_DATA`) when it was first asked.
pub fn has_data_limit() -> bool {
    static HAS: Lazy = Lazy::new();
    HAS.get(|| usize::from(matches!(sys::data_limit(), SpaceLimit::Bytes(_)))) == 1
}

/// What the machine and the memory control groups leave this process for ordinary memory,
/// in bytes; `None` where it cannot be told. A group that cannot be seen, as in a chroot,
/// has to hold plainly, too, what this is asked for: memory that moves off a pool, or a copy
/// of it for a child.
pub fn room() -> Option<usize> {
    let available = available_memory()?;
    let room = match cgroup::memory_left() {
        Left::NoLimit | Left::Hidden => available,
        Left::Bytes(left) => available.min(left),
        Left::Unknown => return None,
    };
    LAST_ROOM.store(room, Ordering::Relaxed);
    Some(room)
}

/// What [`room`] was when it could be told.
static LAST_ROOM: AtomicUsize = AtomicUsize::new(0);

/// The same; where it cannot be told just now, as without a descriptor, half of
/// what it was last, and no more than the machine has free.
pub fn room_or_last() -> Option<usize> {
    room().or_else(|| match LAST_ROOM.load(Ordering::Relaxed) {
        0 => None,
        last => sys::free_memory().map(|free| free.min(last / 2)),
    })
}

/// Has it told once, so that [`room_or_last`] knows something later, whatever the program
/// denies itself by then.
pub fn learn_room() {
    if LAST_ROOM.load(Ordering::Relaxed) == 0 {
        let _ = room();
    }
}

/// Bytes that the kernel says of the machine's memory.
fn memory(tag: &[u8]) -> Option<usize> {
    bytes_in(c"/proc/meminfo", tag)
}

/// Memory of this process that devices write to by themselves, in bytes: it
/// must stay where it is.
pub fn pinned_memory() -> Option<usize> {
    bytes_in(STATUS, b"VmPin:")
}

const STATUS: &CStr = c"/proc/self/status";

/// A number of kilobytes that the kernel says, in bytes.
fn bytes_in(path: &CStr, tag: &[u8]) -> Option<usize> {
    let kib = procfile::look(|| procfile::tagged_in(path, tag))?;
    usize::try_from(kib).ok()?.checked_mul(1024)
}

/// What the kernel says of the process when the program begins.
pub(crate) struct Beginning {
    /// Whether transparent huge pages are enabled for it: 1 or 0, `None` where that is not
    /// said (before Linux 5.0).
    pub(crate) thp: Option<u64>,
    /// How many filters of system calls are in force, 0 where that is not said (before
    /// Linux 5.9); `None` where there is none.
    pub(crate) filters: Option<u64>,
}

/// Finds that out, in one look. Where it cannot be told whether a filter of system calls
/// is in force there is one.
pub(crate) fn begin() -> Beginning {
    let (mut seccomp, mut filters, mut thp) = (None, None, None);
    procfile::look(|| {
        procfile::each_line(STATUS, |line| {
            seccomp = seccomp.or_else(|| keyed::number_in(line, b"Seccomp:"));
            filters = filters.or_else(|| keyed::number_in(line, b"Seccomp_filters:"));
            thp = thp.or_else(|| keyed::number_in(line, b"THP_enabled:"));
            // The lines of filters stand behind that of huge pages.
            thp.and(seccomp)
                .and(filters.or(seccomp.filter(|mode| *mode == 0)))
        })
    });
    let has_none = seccomp == Some(0) || !has_seccomp();
    if has_none {
        sys::note_no_filter();
    }
    let filters = (!has_none).then_some(filters.unwrap_or(0));
    Beginning { thp, filters }
}

/// Whether a filter of system calls is in force, which may end the process for
/// calls that its program does not make (`SystemCallFilter=` of systemd); yes
/// where it cannot be told. One that the program has set without our knowing is
/// found here.
pub fn has_filter() -> bool {
    sys::filter() != Filter::None
        || procfile::look(|| procfile::tagged_in(STATUS, b"Seccomp:")) != Some(0) && has_seccomp()
}

/// Whether the kernel may have filters at all: before Linux 3.8, and where it
/// was built without, it says nothing of them.
fn has_seccomp() -> bool {
    procfile::look(|| procfile::tagged_in(STATUS, b"Threads:")).is_none()
        || procfile::look(|| procfile::tagged_in(STATUS, b"Seccomp:")).is_some()
}

/// The address space that this process has taken, in bytes.
pub fn address_space() -> Option<usize> {
    let text = |buffer: &mut [u8; 32]| number::leading(procfile::head(c"/proc/self/statm", buffer));
    let pages = procfile::look(|| text(&mut [0; 32]))?;
    usize::try_from(pages).ok()?.checked_mul(sys::page_size())
}

/// Private memory of this process that is there, in bytes.
pub fn resident_memory() -> Option<usize> {
    let text = |buffer: &mut [u8; 128]| {
        let text = procfile::head(c"/proc/self/statm", buffer);
        let mut pages = text.split(|b| *b == b' ').skip(1).map(number::leading);
        let (resident, shared) = (pages.next()??, pages.next()??);
        usize::try_from(resident.saturating_sub(shared)).ok()
    };
    let pages = procfile::look(|| text(&mut [0; 128]))?;
    pages.checked_mul(sys::page_size())
}

/// Whether other threads run; yes where it cannot be told.
pub fn has_threads() -> bool {
    threads() != 1
}

/// How many threads the process has; 0 where it cannot be told.
pub fn threads() -> usize {
    // Of a folder, two are its own.
    match sys::links(c"/proc/self/task") {
        Some(links) => usize::try_from(links)
            .unwrap_or(usize::MAX)
            .saturating_sub(2),
        None => usize::from(sys::is_alone() == Some(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert!(thp_size().is_power_of_two() && thp_size() > sys::page_size());
        assert!(default_huge_size().is_none_or(|size| size > sys::page_size()));
    }

    #[test]
    fn a_second_thread_is_seen() {
        // The test runner has threads of its own.
        assert!(has_threads());
        let available = available_memory().unwrap();
        assert!(available > 0 && Some(available) < total_memory());
        let resident = resident_memory().unwrap();
        assert!(resident > 0 && resident < available);
        assert!(room().is_none_or(|room| room > 0));
        assert_eq!(pinned_memory(), Some(0));
    }

    #[test]
    fn what_is_known_is_not_found_out_again() {
        let lazy = Lazy::new();
        assert_eq!(lazy.get(|| 5), 5);
        assert_eq!(lazy.get(|| 6), 5);
    }
}
