//! Facts about pools and their use, the default page size and userfaultfd.

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageSize};

use super::Fact;
use super::pools::{is_idle, pages, total_with_bytes};

pub(super) fn find(machine: &Machine) -> Vec<Fact> {
    if machine.pools.is_empty() {
        return vec![no_pools(machine)];
    }
    let mut found: Vec<Fact> = default_size(machine).into_iter().collect();
    for pool in &machine.pools {
        found.extend(usage(pool));
        found.extend(surplus(pool));
    }
    found.extend(userfaultfd(machine));
    found
}

/// Reports that only root may use userfaultfd, which threaded programs need for private pool pages.
fn userfaultfd(machine: &Machine) -> Option<Fact> {
    let userfault = &machine.userfault;
    let has_pages = machine.pools.iter().any(|pool| pool.minimum().get() > 0);
    (has_pages && userfault.owner.is_some() && userfault.is_privileged_only()).then(|| {
        Fact::new(
            "kernel",
            "only root may use userfaultfd for system calls",
            "threaded programs of other users cannot keep heap, data or bss on a \
             pool; to permit it to a group: hugeadm --set-userfaultfd-group GROUP",
        )
    })
}

/// Reports why there are no pools.
fn no_pools(machine: &Machine) -> Fact {
    let effect = match machine.thp {
        Some(_) => "only transparent huge pages are available: hugectl --heap=thp, --text=thp",
        None => "no program can have huge pages",
    };
    // Every kernel with CONFIG_HUGETLBFS has this sysctl.
    match machine.sysctl.hugetlb_shm_group {
        None => Fact::new(
            "kernel",
            "this kernel was built without huge page pools (CONFIG_HUGETLBFS)",
            effect,
        ),
        Some(_) => Fact::new(
            "kernel",
            "the kernel supports huge page pools, but this machine offers no page size for them",
            format!(
                "{effect}; a virtual machine has pools if its host backs its memory with huge pages \
                 (QEMU: -mem-path /dev/hugepages; s390x: the module option kvm.hpage=1)"
            ),
        ),
    }
}

/// Reports a default size above the PMD size, or that only a pool of another size may have pages.
fn default_size(machine: &Machine) -> Option<Fact> {
    let (default, pools) = (machine.default_pool()?, &machine.pools);
    let pmd_size = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let pmd_pool = pmd_size.filter(|size| pools.iter().any(|pool| pool.size == *size));
    let other = pools
        .iter()
        .find(|pool| !pool.default && pool.maximum().get() > 0);
    let parameter = |size: PageSize| {
        let size = size.parameter();
        format!("to change the default at the next boot: default_hugepagesz={size}")
    };
    match (pmd_pool, other) {
        (Some(smaller), _) if default.size > smaller => Some(Fact::new(
            "pool",
            format!("the default huge page size is {}", default.size),
            format!(
                "without an explicit size, shmget and mmap take a whole page of it even for {smaller}; {}",
                parameter(smaller)
            ),
        )),
        (_, Some(other)) if default.maximum().get() == 0 => Some(Fact::new(
            "pool",
            format!(
                "the pool of {} can have pages, but the pool of the default size {} can't",
                other.size, default.size
            ),
            format!(
                "programs that request no size get none of these pages; {}",
                parameter(other.size)
            ),
        )),
        _ => None,
    }
}

/// Reports that a pool is unused, exhausted or partly reserved.
fn usage(pool: &Pool) -> Option<Fact> {
    let Pool {
        size,
        free,
        reserved,
        total,
        ..
    } = pool;
    if is_idle(pool) {
        Some(Fact::new(
            "pool",
            format!("{} of the pool are unused", total_with_bytes(pool)),
            format!(
                "other programs cannot use this memory; to free it: hugeadm \
                 --pool-pages-min {size}:0"
            ),
        ))
    } else if total.get() > 0 && pool.available().get() == 0 {
        Some(Fact::new(
            "pool",
            format!(
                "the pool has no free page left: {} used or reserved",
                pages(total.get(), pool)
            ),
            match pool.maximum() > pool.total {
                true => {
                    "the next program depends on surplus pages, which the kernel allocates on demand"
                }
                false => "the next program that requests one gets none",
            },
        ))
    } else if reserved.get() > 0 {
        Some(Fact::new(
            "pool",
            format!(
                "programs have reserved {reserved} of the {} that {} free, but not touched them yet",
                pages(free.get(), pool),
                if free.get() == 1 { "is" } else { "are" }
            ),
            format!("{} available", pages(pool.available().get(), pool)),
        ))
    } else {
        None
    }
}

/// Reports surplus pages.
fn surplus(pool: &Pool) -> Option<Fact> {
    let surplus = pool.surplus.get();
    (surplus > 0).then(|| {
        Fact::new(
            "pool",
            format!(
                "the kernel allocated {} above the minimum on demand",
                pages(surplus, pool)
            ),
            format!(
                "the kernel frees surplus pages after use and may fail to allocate them again; to keep them: \
                 hugeadm --pool-pages-min {}:+{surplus}",
                pool.size
            ),
        )
    })
}
