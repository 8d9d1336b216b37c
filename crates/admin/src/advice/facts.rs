//! What is worth knowing although nothing is to be done about it now: how
//! the pools are used, and what only a boot or the host can change.

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use super::Fact;
use super::pools::{held, is_idle, pages};

pub(super) fn find(machine: &Machine) -> Vec<Fact> {
    if machine.pools.is_empty() {
        let is_seen = machine.unseen.is_none();
        return is_seen.then(|| none_offered(machine)).into_iter().collect();
    }
    let mut found: Vec<Fact> = default_size(machine).into_iter().collect();
    for pool in &machine.pools {
        found.extend(use_of(pool));
        found.extend(surplus(pool));
        found.extend(forks(pool));
    }
    found.extend(threads(machine));
    found
}

/// Forks of ordinary users' programs with threads, where a group could be given
/// leave to move memory past them.
fn threads(machine: &Machine) -> Option<Fact> {
    let userfault = &machine.userfault;
    let has_pages = machine.pools.iter().any(|pool| pool.minimum().get() > 0);
    (has_pages && userfault.owner.is_some() && userfault.is_for_few()).then(|| {
        Fact::new(
            "kernel",
            "only root may use userfaultfd for system calls",
            "programs of other users have no heap, data or bss on a pool once they have \
             threads; a group whose programs do: hugeadm --set-userfaultfd-group GROUP",
        )
    })
}

fn none_offered(machine: &Machine) -> Fact {
    let instead = match machine.thp {
        Some(_) => "only transparent huge pages can be had: hugectl --heap=thp, --text=thp",
        None => "no program can have huge pages here",
    };
    // The sysctl is part of every kernel that was built with pools.
    match machine.sysctl.hugetlb_shm_group {
        None => Fact::new(
            "kernel",
            "this kernel was built without huge page pools (CONFIG_HUGETLBFS)",
            instead,
        ),
        Some(_) => Fact::new(
            "kernel",
            "the kernel can keep huge page pools, but this machine offers no size of them",
            format!(
                "{instead}; the host can offer them: to a virtual machine, huge pages as its \
                 memory (QEMU: -mem-path /dev/hugepages; s390x: the module option kvm.hpage=1)"
            ),
        ),
    }
}

/// Programs that name no size get the default one.
fn default_size(machine: &Machine) -> Option<Fact> {
    let (default, others) = (machine.default_pool()?, &machine.pools);
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let usual = transparent.filter(|usual| others.iter().any(|pool| pool.size == *usual));
    let filled = others
        .iter()
        .find(|pool| !pool.default && pool.maximum().get() > 0);
    let parameter = |size: PageSize| {
        let size = size.to_string();
        let size = size.trim_end_matches('B').to_owned();
        format!("to change that at the next boot: default_hugepagesz={size}")
    };
    match (usual, filled) {
        (Some(usual), _) if default.size > usual => Some(Fact::new(
            "pool",
            format!("the default huge page size is {}", default.size),
            format!(
                "shmget and mmap without a size take whole pages of it, also for a few {usual}; {}",
                parameter(usual)
            ),
        )),
        (_, Some(filled)) if default.maximum().get() == 0 => Some(Fact::new(
            "pool",
            format!(
                "the pool of {} has pages, that of the default size {} none",
                filled.size, default.size
            ),
            format!(
                "programs that name no size get none of them; {}",
                parameter(filled.size)
            ),
        )),
        _ => None,
    }
}

/// What becomes of a pool's pages: nobody uses them, all are taken, or some
/// are promised.
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
            format!("{} are in the pool and nobody uses them", held(pool)),
            format!(
                "no other program can have this memory; to give it back: hugeadm \
                 --pool-pages-min {size}:0"
            ),
        ))
    } else if total.get() > 0 && pool.available().get() == 0 {
        Some(Fact::new(
            "pool",
            format!(
                "all {} of the pool are used or promised",
                pages(total.get(), pool)
            ),
            match pool.maximum() > pool.total {
                true => "the next program depends on pages that the kernel makes on demand",
                false => "the next program that asks for one gets none",
            },
        ))
    } else if reserved.get() > 0 {
        Some(Fact::new(
            "pool",
            format!(
                "{reserved} of the {free} free pages of {size} are promised to programs that have \
                 not touched them yet"
            ),
            format!("{} can be had", pages(pool.available().get(), pool)),
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
                "{} above the minimum were made on demand",
                pages(surplus, pool)
            ),
            format!(
                "they go when they are free again, and may then not come back; to keep them: \
                 hugeadm --pool-pages-min {}:+{surplus}",
                pool.size
            ),
        )
    })
}

/// Measured with a server that saves from a child, as Redis does: a heap in a
/// pool costs a fork about twice what base pages do, and transparent huge pages
/// a thirtieth of it.
fn forks(pool: &Pool) -> Option<Fact> {
    const WORTH_IT: Bytes = Bytes::new(1 << 30);
    let used = pool.total.get().checked_sub(pool.free.get())?;
    let bytes = pool.size.of(PageCount::new(used))?;
    (bytes >= WORTH_IT).then(|| {
        Fact::new(
            "pool",
            format!("{} of the pool are in use", pages(used, pool)),
            "private memory on them, as a heap, is copied when its process forks: about 0.1 s and \
             as much memory again for each GiB; for servers that save from a forked child there is \
             hugectl --heap=thp",
        )
    })
}
