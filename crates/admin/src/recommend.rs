//! What is recommended for a machine.
//!
//! **Invariants.** It depends on the machine alone, so that advice, plans and what brings
//! them back at boot agree.

use std::ops::RangeInclusive;

use hugetools_model::Machine;
use hugetools_model::thp::Thp;

/// What `kernel.shmmax` is at boot: no limit that anybody meets.
pub const SHMMAX_AT_BOOT: u64 = u64::MAX - (1 << 24);

/// Blocks of each zone: two that are free, and as many as the square of the
/// kernel's three kinds of memory, so that each finds blocks of its own.
const BLOCKS: u64 = 2 + 3 * 3;

/// `vm.min_free_kbytes` for huge pages, as the kernel computes it for
/// transparent huge pages: some blocks for each zone that has memory, but not
/// more than 5 % of low memory. `None` without huge pages.
pub fn min_free_kbytes(machine: &Machine) -> Option<u64> {
    Some(*kernel_range(machine)?.start())
}

/// Whether the kernel sets `vm.min_free_kbytes` to this value by itself at boot.
/// It does so only while transparent huge pages are on.
pub fn is_kernels_own(machine: &Machine, kilobytes: u64) -> bool {
    let is_on = machine.thp.as_ref().is_some_and(Thp::serves_any);
    is_on && kernel_range(machine).is_some_and(|range| range.contains(&kilobytes))
}

/// What the kernel's formula can have given. The cap of 5 % counts low memory
/// above the high watermarks, and these rise with the setting itself. So the
/// figure of the boot lies between a cap by today's watermarks and one without.
fn kernel_range(machine: &Machine) -> Option<RangeInclusive<u64>> {
    let default = machine.meminfo.huge_page_size;
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let block = default.into_iter().chain(transparent).min()?;
    let low = || machine.zones.iter().filter(|zone| zone.is_low());
    let populated = low().filter(|zone| zone.present > 0).count();
    let wanted = u64::try_from(populated)
        .ok()?
        .saturating_mul(BLOCKS)
        .saturating_mul(block.kib());
    let Some(base) = machine.base_page else {
        return Some(wanted..=wanted);
    };
    let cap = |pages: u64| (pages / 20).saturating_mul(base.get() >> 10);
    let most = low().map(|zone| zone.managed).fold(0, u64::saturating_add);
    let least = low().map(|zone| zone.managed.saturating_sub(zone.high));
    let least = least.fold(0, u64::saturating_add);
    Some(wanted.min(cap(least))..=wanted.min(cap(most)))
}

/// `kernel.shmmax`, in bytes, so that one segment can take all pools at their
/// maximum; 0 where they are empty.
pub fn shmmax(machine: &Machine) -> u64 {
    let pools = machine.pools.iter();
    pools.fold(0, |sum, pool| {
        let bytes = pool.size.of(pool.maximum());
        sum.saturating_add(bytes.map_or(u64::MAX, |bytes| bytes.get()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_model::{Root, fixture};

    fn read(archive: &str) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        fixture::unpack(archive, dir.path()).unwrap();
        Machine::read(&Root::at(dir.path()).unwrap()).unwrap()
    }

    macro_rules! machine {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/", $name, ".tree"))
        };
    }

    /// The kernel computed the same when it started on these machines.
    #[test]
    fn the_recommendation_is_the_kernels_own() {
        for archive in [
            machine!("aarch64-4k"),
            machine!("ppc64le-power8-hash"),
            machine!("ppc64le-power9-radix"),
            machine!("x86_64-6.18-mthp"),
            machine!("x86_64-8node"),
            machine!("x86_64-no-1g"),
        ] {
            let machine = read(archive);
            assert_eq!(min_free_kbytes(&machine), machine.sysctl.min_free_kbytes);
        }
    }

    #[test]
    fn there_is_none_without_huge_pages() {
        assert_eq!(min_free_kbytes(&read(machine!("s390x"))), None);
        assert_eq!(
            min_free_kbytes(&read(machine!("ppc64le-power9-hash"))),
            None
        );
    }

    #[test]
    fn a_large_default_size_and_little_memory_do_not_take_it_all() {
        let archive = machine!("x86_64-no-1g")
            .replace("Hugepagesize:       2048 kB", "Hugepagesize:    1048576 kB");
        assert_eq!(min_free_kbytes(&read(&archive)), Some(45056));
    }

    /// Blocks as large as arm64 has them with pages of 64 KiB: 5 % of the memory
    /// is less. The kernel's own value is neither too low nor worth a line.
    #[test]
    fn the_cap_counts_memory_above_the_high_watermarks() {
        let capped = |kilobytes: u64| {
            let large = "hpage_pmd_size = 536870912";
            let archive = machine!("x86_64-no-1g").replace("hpage_pmd_size = 2097152", large);
            let archive =
                archive.replace("Hugepagesize:       2048 kB", "Hugepagesize:     524288 kB");
            let was = "/proc/sys/vm/min_free_kbytes = 45056";
            let now = format!("/proc/sys/vm/min_free_kbytes = {kilobytes}");
            assert!(archive.contains(was) && archive.contains(large));
            read(&archive.replace(was, &now))
        };
        let managed = 245_316 + 3840;
        // The watermarks at boot were lower than those recorded.
        let own = (managed - 2000) / 20 * 4;
        let machine = capped(own);
        assert_eq!(
            min_free_kbytes(&machine),
            Some((managed - 16_632 - 261) / 20 * 4)
        );
        assert!(min_free_kbytes(&machine).unwrap() <= own);
        assert!(is_kernels_own(&machine, own));
        assert!(!is_kernels_own(&machine, own + 9000));
        assert!(!is_kernels_own(&machine, 8192));
    }

    /// With transparent huge pages off the kernel makes no recommendation.
    #[test]
    fn nothing_is_the_kernels_own_while_thp_is_off() {
        let archive = machine!("x86_64-no-1g");
        assert!(is_kernels_own(&read(archive), 45_056));
        let off = archive.replace(
            "transparent_hugepage/enabled = [always] madvise never",
            "transparent_hugepage/enabled = always madvise [never]",
        );
        assert_eq!(min_free_kbytes(&read(&off)), Some(45_056));
        assert!(!is_kernels_own(&read(&off), 45_056));
    }

    #[test]
    fn shared_memory_may_take_all_pools_at_their_maximum() {
        assert_eq!(shmmax(&read(machine!("x86_64-8node"))), 81 << 21);
        let full = machine!("x86_64-8node").replace(
            "nr_overcommit_hugepages = 7",
            "nr_overcommit_hugepages = 18446744073709551615",
        );
        assert_eq!(shmmax(&read(&full)), u64::MAX);
        assert_eq!(shmmax(&read(machine!("s390x"))), 0);
    }
}
