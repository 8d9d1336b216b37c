//! Facts about the use of pools, the default page size, userfaultfd, and kernels without pools.

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageSize};

use super::Fact;
use super::pools::{held, is_idle, pages};

pub(super) fn find(machine: &Machine) -> Vec<Fact> {
    if machine.pools.is_empty() {
        return vec![none_offered(machine)];
    }
    let mut found: Vec<Fact> = default_size(machine).into_iter().collect();
    for pool in &machine.pools {
        found.extend(use_of(pool));
        found.extend(surplus(pool));
    }
    found.extend(userfaultfd(machine));
    found
}

/// Reports that only root has userfaultfd. Threaded programs need it to keep private pool pages.
fn userfaultfd(machine: &Machine) -> Option<Fact> {
    let userfault = &machine.userfault;
    let has_pages = machine.pools.iter().any(|pool| pool.minimum().get() > 0);
    (has_pages && userfault.owner.is_some() && userfault.is_privileged_only()).then(|| {
        Fact::new(
            "kernel",
            "only root may use userfaultfd for system calls",
            "threaded programs of other users cannot keep heap, data or bss on a \
             pool; hugeadm --set-userfaultfd-group GROUP grants it to the members of a group",
        )
    })
}

fn none_offered(machine: &Machine) -> Fact {
    let effect = match machine.thp {
        Some(_) => "only transparent huge pages are available: hugectl --heap=thp, --text=thp",
        None => "no program can have huge pages here",
    };
    // Every kernel with CONFIG_HUGETLBFS has the sysctl.
    match machine.sysctl.hugetlb_shm_group {
        None => Fact::new(
            "kernel",
            "this kernel was built without huge page pools (CONFIG_HUGETLBFS)",
            effect,
        ),
        Some(_) => Fact::new(
            "kernel",
            "the kernel can keep huge page pools, but this machine offers no size of them",
            format!(
                "{effect}; the host can offer them: to a virtual machine, huge pages as its \
                 memory (QEMU: -mem-path /dev/hugepages; s390x: the module option kvm.hpage=1)"
            ),
        ),
    }
}

/// Reports a default size above the PMD size, or an empty default pool beside a filled one.
fn default_size(machine: &Machine) -> Option<Fact> {
    let (default, others) = (machine.default_pool()?, &machine.pools);
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let usual = transparent.filter(|usual| others.iter().any(|pool| pool.size == *usual));
    let filled = others
        .iter()
        .find(|pool| !pool.default && pool.maximum().get() > 0);
    let parameter = |size: PageSize| {
        let size = size.parameter();
        format!("to change that at the next boot: default_hugepagesz={size}")
    };
    match (usual, filled) {
        (Some(usual), _) if default.size > usual => Some(Fact::new(
            "pool",
            format!("the default huge page size is {}", default.size),
            format!(
                "shmget and mmap without a size use whole pages of this size, even for a few {usual}; {}",
                parameter(usual)
            ),
        )),
        (_, Some(filled)) if default.maximum().get() == 0 => Some(Fact::new(
            "pool",
            format!(
                "the pool of {} has pages, but the pool of the default size {} is empty",
                filled.size, default.size
            ),
            format!(
                "programs that choose no size get none of them; {}",
                parameter(filled.size)
            ),
        )),
        _ => None,
    }
}

/// Reports that a pool is unused, exhausted or reserved.
fn use_of(pool: &Pool) -> Option<Fact> {
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
            format!("{} of the pool are unused", held(pool)),
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
                false => "the next program that asks for one gets none",
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
                "surplus pages are freed after use, and the kernel may not find them again; to keep them: \
                 hugeadm --pool-pages-min {}:+{surplus}",
                pool.size
            ),
        )
    })
}
