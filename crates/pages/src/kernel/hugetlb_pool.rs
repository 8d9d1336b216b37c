//! Pages of a hugetlb pool.
#![expect(unsafe_code, reason = "maps memory by address")]

use core::ffi::{CStr, c_int};
use core::fmt;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys::{self, Result, cast};
use hugetools_kernfs::pool;
use hugetools_kernfs::size_name::SizeName;

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// The flags that ask `mmap` for pages of this size.
pub fn map_flags(size: usize) -> c_int {
    libc::MAP_HUGETLB | size_bits(size, libc::MAP_HUGE_SHIFT)
}

/// The flags that ask `shmget` for pages of this size.
pub fn shm_flags(size: usize) -> c_int {
    const SHM_HUGE_SHIFT: c_int = 26;
    libc::SHM_HUGETLB | size_bits(size, SHM_HUGE_SHIFT)
}

fn size_bits(size: usize, shift: c_int) -> c_int {
    cast::signed(size.trailing_zeros()) << shift
}

/// Maps private huge pages over a range, without a reservation: none of them
/// may be touched before it was populated. Where pages take turns on memory
/// nodes (`numactl --interleave`), the kernel goes by their offset: as for
/// ordinary memory that is the address, or each mapping would begin anew.
///
/// # Safety
/// The range must be the caller's to replace.
pub unsafe fn map_private_over(addr: usize, len: usize, size: usize) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: as the caller says.
    unsafe { sys::mmap(addr, len, READ_WRITE, flags | map_flags(size), -1, addr) }.map(drop)
}

/// A file of such pages without a name and of length 0, for a program to keep.
pub fn inherited_file(name: &CStr, size: usize) -> Result<c_int> {
    const MFD_HUGE_SHIFT: c_int = 26;
    let flags = crate::sys::cast::signed(libc::MFD_HUGETLB) | size_bits(size, MFD_HUGE_SHIFT);
    sys::memory_file(name, flags)
}

/// Maps shared huge pages with a reservation, anywhere.
pub fn map_shared(len: usize, prot: c_int, size: usize) -> Result<usize> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping replaces nothing.
    unsafe { sys::mmap(0, len, prot, flags | map_flags(size), -1, 0) }
}

/// A file of pages of this size, without a name and of length 0.
///
/// # Errors
/// As [`sys::File::hugetlb`].
pub fn file(name: &CStr, size: usize) -> Result<sys::File> {
    const MFD_HUGE_SHIFT: c_int = 26;
    let flags = cast::signed(libc::MFD_HUGETLB) | size_bits(size, MFD_HUGE_SHIFT);
    sys::File::hugetlb(name, flags)
}

/// A counter of the pool of this size, as `free_hugepages`; `None` where the
/// machine has no such size.
pub fn counter(size: usize, name: &str) -> Option<u64> {
    let dir = "/sys/kernel/mm/hugepages/hugepages-";
    procfile::look(|| {
        let path = Path::of(format_args!("{dir}{}kB/{name}", size >> 10))?;
        procfile::number(path.c_str())
    })
}

/// Whether the machine offers pages of this size.
pub fn is_offered(size: usize) -> bool {
    size.is_power_of_two() && counter(size, "nr_hugepages").is_some()
}

/// Pages that a pool could give without growing: free and not reserved; `None` where its
/// counters cannot be read. For a message: `3 are free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free(pub Option<u64>);

impl fmt::Display for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(free) => write!(f, "{free} are free"),
            None => f.write_str("how many are free cannot be read"),
        }
    }
}

/// Those of the pool of this size.
pub fn free(size: usize) -> Free {
    let count = |name| counter(size, name).map(pool::count);
    let counts = count("free_hugepages").zip(count("resv_hugepages"));
    Free(counts.map(|(free, reserved)| free.saturating_sub(reserved)))
}

/// The command that adds what a pool lacks for so many pages, for the end of a
/// message; nothing where it has them, or where what it has is unknown.
pub struct ToGrow {
    /// The size of its pages.
    pub size: usize,
    /// How many are needed.
    pub needed: usize,
    /// How many it could give.
    pub free: Free,
}

impl fmt::Display for ToGrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = SizeName(self.size);
        let Free(free) = self.free;
        match free.map(|free| (self.needed as u64).saturating_sub(free)) {
            None | Some(0) => Ok(()),
            Some(lacking) => write!(
                f,
                " (to grow the pool: hugeadm --pool-pages-min {size}:+{lacking})"
            ),
        }
    }
}

/// The same of memory that is had as a whole or not at all; and where the pool has
/// the pages, that something else is in the way.
pub struct ToHave(pub ToGrow);

impl fmt::Display for ToHave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.free {
            Free(Some(free)) if free >= self.0.needed as u64 => f.write_str(
                " (the pool has them: a limit keeps them from this process, such as one of a \
                 hugetlb cgroup, a cpuset or a memory policy)",
            ),
            _ => self.0.fmt(f),
        }
    }
}

/// The most pages that the pool may come to have: those that it has and those
/// that it may still make; `None` where that cannot be read.
pub fn most(size: usize) -> Option<u64> {
    let count = |name| counter(size, name).map(pool::count);
    let persistent = count("nr_hugepages")?.saturating_sub(count("surplus_hugepages")?);
    Some(persistent.saturating_add(counter(size, "nr_overcommit_hugepages")?))
}

/// Whether the pool could give so many pages, surplus pages included that may still be
/// made; `None` where its counters cannot be read.
pub fn could_give(size: usize, pages: usize) -> Option<bool> {
    let surplus = counter(size, "surplus_hugepages").map(pool::count)?;
    let surplus = counter(size, "nr_overcommit_hugepages")?.saturating_sub(surplus);
    let all = free(size).0?.saturating_add(surplus);
    Some(all >= pages as u64)
}

/// Whether the kernel keeps pages of this size apart from others, as on POWER
/// with a hashed page table, whose huge pages have 16 MiB and 16 GiB: a slice of
/// 256 MiB or 1 TiB has pages of one size, and an `mremap` into another one
/// fails after it has unmapped what was there.
pub fn has_slices(size: usize) -> bool {
    cfg!(target_arch = "powerpc64") && size >> 24 & 0x401 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_travel_in_the_flags() {
        assert_eq!(map_flags(2 << 20), libc::MAP_HUGETLB | libc::MAP_HUGE_2MB);
        assert_eq!(map_flags(1 << 30), libc::MAP_HUGETLB | libc::MAP_HUGE_1GB);
        assert_eq!(shm_flags(2 << 20), libc::SHM_HUGETLB | (21 << 26));
    }

    #[test]
    fn what_is_advised_is_what_is_missing() {
        let said = |needed, free| {
            let (size, free) = (2 << 20, Free(free));
            format!("{free}{}", ToGrow { size, needed, free })
        };
        let advice = "300 are free (to grow the pool: hugeadm --pool-pages-min 2MB:+237)";
        assert_eq!(said(537, Some(300)), advice);
        assert_eq!(said(300, Some(300)), "300 are free");
        assert_eq!(said(300, None), "how many are free cannot be read");
    }

    #[test]
    fn a_size_that_no_machine_has() {
        assert!(!is_offered(3 << 20));
        assert_eq!(counter(1 << 50, "nr_hugepages"), None);
        assert_eq!(most(1 << 50), None);
        assert_eq!(free(1 << 50), Free(None));
        assert_eq!(could_give(1 << 50, 0), None);
    }
}
