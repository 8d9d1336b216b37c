//! Recommended values of sysctls.
//!
//! **Invariants.** They depend only on the machine, so that advice and plans agree.

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageCount};

/// The default of `kernel.shmmax`, practically unlimited.
pub const SHMMAX_AT_BOOT: u64 = u64::MAX - (1 << 24);

/// Pageblocks to keep free per zone, as in the kernel: 2 plus the square of its 3
/// common migrate types, so that each type finds blocks of its own.
const BLOCKS: u64 = 2 + 3 * 3;

/// Returns `vm.min_free_kbytes` as the kernel computes it for transparent huge pages:
/// some pageblocks per populated zone, at most 5 % of low memory above the high
/// watermarks. `None` without huge pages.
pub fn min_free_kbytes(machine: &Machine) -> Option<u64> {
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
        return Some(wanted);
    };
    let pages = low().map(|zone| zone.managed.saturating_sub(zone.high));
    let pages = pages.fold(0, u64::saturating_add);
    Some(wanted.min((pages / 20).saturating_mul(base.get() >> 10)))
}

/// Returns `kernel.shmmax` (bytes) for one segment as large as all pools at their
/// maximum; 0 if they are empty.
pub fn shmmax(machine: &Machine, maximum: impl Fn(&Pool) -> PageCount) -> u64 {
    let pools = machine.pools.iter();
    pools.fold(0, |sum, pool| {
        let bytes = pool.size.of(maximum(pool));
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

    /// The kernels of these machines computed the same value at boot.
    #[test]
    fn recommendation_equals_the_kernels_value() {
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

    /// With blocks as large as on arm64 with pages of 64 KiB, the cap of 5 % applies.
    #[test]
    fn the_cap_counts_memory_above_the_high_watermarks() {
        let archive = machine!("x86_64-no-1g")
            .replace("hpage_pmd_size = 2097152", "hpage_pmd_size = 536870912")
            .replace("Hugepagesize:       2048 kB", "Hugepagesize:     524288 kB");
        let above_watermarks = 245_316 + 3840 - 16_632 - 261;
        assert_eq!(
            min_free_kbytes(&read(&archive)),
            Some(above_watermarks / 20 * 4)
        );
    }
}
