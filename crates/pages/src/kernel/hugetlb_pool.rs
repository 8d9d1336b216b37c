//! Hugetlb pools: mappings, files, counters and hints.
#![expect(unsafe_code, reason = "maps memory by address")]

use core::ffi::{CStr, c_int};
use core::fmt;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys::{self, Result, cast};
use hugetools_kernfs::pool;
use hugetools_kernfs::size_name::SizeName;

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// `mmap` flags for pages of this size.
pub fn map_flags(size: usize) -> c_int {
    libc::MAP_HUGETLB | size_bits(size, libc::MAP_HUGE_SHIFT)
}

/// `shmget` flags for pages of this size.
pub fn shm_flags(size: usize) -> c_int {
    const SHM_HUGE_SHIFT: c_int = 26;
    libc::SHM_HUGETLB | size_bits(size, SHM_HUGE_SHIFT)
}

fn size_bits(size: usize, shift: c_int) -> c_int {
    cast::signed(size.trailing_zeros()) << shift
}

/// Maps private huge pages over a range without a reservation; populate them before use. The
/// offset equals the address, because `numactl --interleave` distributes pages by offset.
///
/// # Safety
/// The range must be the caller's to replace.
pub unsafe fn map_private_over(addr: usize, len: usize, size: usize) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: upheld by the caller.
    unsafe { sys::mmap(addr, len, READ_WRITE, flags | map_flags(size), -1, addr) }.map(drop)
}

/// Creates an empty hugetlb memfd whose descriptor survives execve.
pub fn inherited_file(name: &CStr, size: usize) -> Result<c_int> {
    sys::memfd_create(name, memfd_flags(size))
}

fn memfd_flags(size: usize) -> c_int {
    const MFD_HUGE_SHIFT: c_int = 26;
    cast::signed(libc::MFD_HUGETLB) | size_bits(size, MFD_HUGE_SHIFT)
}

/// Maps shared huge pages anywhere, with a reservation.
pub fn map_shared(len: usize, prot: c_int, size: usize) -> Result<usize> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping replaces nothing.
    unsafe { sys::mmap(0, len, prot, flags | map_flags(size), -1, 0) }
}

/// Creates an empty hugetlb memfd.
pub fn file(name: &CStr, size: usize) -> Result<sys::File> {
    sys::File::hugetlb(name, memfd_flags(size))
}

/// Reads a counter of a pool, such as `free_hugepages`; `None` if unreadable.
pub fn counter(size: usize, name: &str) -> Option<u64> {
    let dir = "/sys/kernel/mm/hugepages/hugepages-";
    procfile::if_allowed(|| {
        let path = Path::of(format_args!("{dir}{}kB/{name}", size >> 10))?;
        procfile::number(path.c_str())
    })
}

/// Whether the kernel supports this size.
pub fn is_offered(size: usize) -> bool {
    size.is_power_of_two() && counter(size, "nr_hugepages").is_some()
}

/// Free, unreserved pages of a pool; `None` if unreadable. Prints as `3 are free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free(pub Option<u64>);

impl fmt::Display for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(free) => write!(f, "{free} are free"),
            None => f.write_str("the number of free pages is unreadable"),
        }
    }
}

/// Reads the free pages of a pool.
pub fn free(size: usize) -> Free {
    let count = |name| counter(size, name).map(pool::count);
    let counts = count("free_hugepages").zip(count("resv_hugepages"));
    Free(counts.map(|(free, reserved)| free.saturating_sub(reserved)))
}

/// Prints the cure for a request of whole pages that failed: the command that adds the missing ones
/// to the pool, or limits if it has enough; nothing if that is unknown.
pub struct GrowHint {
    /// Page size.
    pub size: usize,
    /// Pages needed.
    pub needed: usize,
    /// Pages available.
    pub free: Free,
}

impl fmt::Display for GrowHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = SizeName(self.size);
        let Free(free) = self.free;
        match free.map(|free| (self.needed as u64).saturating_sub(free)) {
            None => Ok(()),
            Some(0) => f.write_str(
                " (the pool has enough pages: a hugetlb cgroup, cpuset or memory policy may limit \
                 this process)",
            ),
            Some(lacking) => write!(
                f,
                " (to grow the pool: hugeadm --pool-pages-min {size}:+{lacking})"
            ),
        }
    }
}

/// Maximum size of the pool: persistent pages and possible surplus; `None` if unreadable.
pub fn maximum(size: usize) -> Option<u64> {
    let count = |name| counter(size, name).map(pool::count);
    let persistent = count("nr_hugepages")?.saturating_sub(count("surplus_hugepages")?);
    Some(persistent.saturating_add(counter(size, "nr_overcommit_hugepages")?))
}

/// Whether the pool could provide this many pages, surplus included; `None` if unreadable.
pub fn could_give(size: usize, pages: usize) -> Option<bool> {
    let surplus = counter(size, "surplus_hugepages").map(pool::count)?;
    let surplus = counter(size, "nr_overcommit_hugepages")?.saturating_sub(surplus);
    let all = free(size).0?.saturating_add(surplus);
    Some(all >= pages as u64)
}

/// Whether the kernel may keep this page size in address slices of its own: 16 MiB and 16 GiB on
/// POWER with hashed page tables. An `mremap` across slices fails after unmapping its target.
pub fn has_address_slices(size: usize) -> bool {
    cfg!(target_arch = "powerpc64") && size >> 24 & 0x401 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_missing_pages() {
        let text = |needed, free| {
            let (size, free) = (2 << 20, Free(free));
            format!("{free}{}", GrowHint { size, needed, free })
        };
        let advice = "300 are free (to grow the pool: hugeadm --pool-pages-min 2MB:+237)";
        assert_eq!(text(537, Some(300)), advice);
        assert!(text(300, Some(300)).starts_with("300 are free (the pool has enough pages"));
        assert_eq!(text(300, None), "the number of free pages is unreadable");
    }
}
