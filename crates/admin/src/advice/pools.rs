//! Findings about pools and their nodes.

use hugetools_model::node::Node;
use hugetools_model::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount, PageSize};

use super::{Finding, counted};
use crate::hint::boot;

/// Above this share of the memory, in hundredths, pools leave too little.
const MOST: u64 = 80;

pub(super) fn none_offered(machine: &Machine) -> Finding {
    let consequence = match machine.thp {
        Some(_) => "only transparent huge pages can be had: hugectl --heap=thp, --text=thp",
        None => "no program can have huge pages here",
    };
    // The sysctl is part of every kernel that was built with pools.
    match machine.sysctl.hugetlb_shm_group {
        None => Finding::new(
            "kernel",
            "this kernel was built without huge page pools",
            consequence,
            "boot a kernel with CONFIG_HUGETLBFS",
        ),
        Some(_) => Finding::new(
            "kernel",
            "the kernel can keep huge page pools, but this machine offers no size of them",
            consequence,
            "let the host offer them: to a virtual machine, huge pages as its memory (QEMU: \
             -mem-path /dev/hugepages; s390x: the module option kvm.hpage=1)",
        ),
    }
}

pub(super) fn find(machine: &Machine, found: &mut Vec<Finding>) {
    if machine.pools.iter().all(|pool| pool.maximum().get() == 0) {
        found.push(Finding::new(
            "pool",
            "no pool has pages or may make any",
            "a program that asks for huge pages gets none, or ends",
            match machine.default_pool() {
                Some(pool) if pool.overcommit.is_some() => "hugeadm --pool-pages-max DEFAULT:10%",
                _ => "hugeadm --pool-pages-min DEFAULT:+1",
            },
        ));
    }
    found.extend(default_size(machine));
    for pool in &machine.pools {
        found.extend(use_of(pool));
        found.extend(forks(pool));
        found.extend(surplus(pool));
        found.extend(gigantic(pool));
        found.extend(balance(pool, machine));
    }
    found.extend(too_much(machine));
    found.extend(descriptors(machine));
}

/// Programs that name no size get the default one.
fn default_size(machine: &Machine) -> Option<Finding> {
    let (default, others) = (machine.default_pool()?, &machine.pools);
    let transparent = machine.thp.as_ref().and_then(|thp| thp.pmd_size);
    let usual = transparent.filter(|usual| others.iter().any(|pool| pool.size == *usual));
    let filled = others
        .iter()
        .find(|pool| !pool.default && pool.maximum().get() > 0);
    let name = |size: PageSize| size.to_string().trim_end_matches('B').to_owned();
    match (usual, filled) {
        (Some(usual), _) if default.size > usual => Some(Finding::new(
            "pool",
            format!("the default huge page size is {}", default.size),
            format!(
                "shmget and mmap without a size take whole pages of it, also for a few {usual}"
            ),
            format!("kernel parameter: default_hugepagesz={}", name(usual)),
        )),
        (_, Some(filled)) if default.maximum().get() == 0 => Some(Finding::new(
            "pool",
            format!(
                "the pool of {} has pages, that of the default size {} none",
                filled.size, default.size
            ),
            "programs that name no size get none of them",
            format!("kernel parameter: default_hugepagesz={}", name(filled.size)),
        )),
        _ => None,
    }
}

fn pages(number: u64, pool: &Pool) -> String {
    format!("{} of {}", counted(number, "page"), pool.size)
}

/// What becomes of a pool's pages: nobody uses them, all are taken, or some
/// are promised.
fn use_of(pool: &Pool) -> Option<Finding> {
    let (size, total) = (pool.size, pool.total.get());
    if total > 0 && pool.free == pool.total && pool.reserved.get() == 0 {
        let bytes = size.of(pool.total).unwrap_or_default();
        let pages = pages(total, pool);
        Some(Finding::new(
            "pool",
            format!("{pages} ({bytes}) are in the pool and nobody uses them"),
            "no other program can have this memory",
            format!("hugeadm --pool-pages-min {size}:0"),
        ))
    } else if total > 0 && pool.available().get() == 0 {
        let pages = pages(total, pool);
        Some(Finding::new(
            "pool",
            format!("all {pages} of the pool are used or promised"),
            match pool.maximum() > pool.total {
                true => "the next program depends on pages that the kernel makes on demand",
                false => "the next program that asks for one gets none",
            },
            format!("hugeadm --pool-pages-min {size}:+{}", total.div_ceil(4)),
        ))
    } else {
        promised(pool)
    }
}

/// Measured with a server that saves from a child, as Redis does: a heap in a
/// pool costs a fork about twice what base pages do, and transparent huge pages
/// a thirtieth of it.
fn forks(pool: &Pool) -> Option<Finding> {
    const WORTH_IT: Bytes = Bytes::new(1 << 30);
    let used = pool.total.get().checked_sub(pool.free.get())?;
    let bytes = pool.size.of(PageCount::new(used))?;
    (bytes >= WORTH_IT).then(|| {
        Finding::new(
            "pool",
            format!("{} of the pool are in use", pages(used, pool)),
            "private memory on them, as a heap, is copied when its process forks: about 0.1 s and \
             as much memory again for each GiB",
            "for servers that save from a forked child: hugectl --heap=thp",
        )
    })
}

fn promised(pool: &Pool) -> Option<Finding> {
    let Pool {
        size,
        free,
        reserved,
        ..
    } = pool;
    (reserved.get() > 0).then(|| {
        Finding::new(
            "pool",
            format!(
                "{reserved} of the {free} free pages of {size} are promised to programs that have \
                 not touched them yet"
            ),
            format!("only {} can be had", pages(pool.available().get(), pool)),
            format!("hugeadm --pool-pages-min {size}:+{reserved}"),
        )
    })
}

fn surplus(pool: &Pool) -> Option<Finding> {
    let Pool { size, surplus, .. } = pool;
    (surplus.get() > 0).then(|| {
        let pages = pages(surplus.get(), pool);
        Finding::new(
            "pool",
            format!("{pages} above the minimum were made on demand"),
            "they go when they are free again, and may then not come back",
            format!("hugeadm --pool-pages-min {size}:+{surplus}"),
        )
    })
}

fn gigantic(pool: &Pool) -> Option<Finding> {
    (pool.overcommit.is_none() && pool.maximum().get() == 0).then(|| {
        Finding::new(
            "pool",
            format!(
                "pages of {} are gigantic, and their pool is empty",
                pool.size
            ),
            "each needs memory in one piece, which is scarce once a system runs",
            format!("kernel parameters: {}", boot(pool.size, None, 1)),
        )
    })
}

/// Nodes that have memory and too little of a pool.
fn balance(pool: &Pool, machine: &Machine) -> Option<Finding> {
    let nodes = machine.nodes.iter().filter(|node| node.total.get() > 0);
    let share = |node: &Node| node.pool(pool.size).map(|pool| pool.minimum().get());
    let shares: Vec<(&Node, u64)> = nodes
        .filter_map(|node| Some((node, share(node)?)))
        .collect();
    let least = shares.iter().map(|(_, pages)| *pages).min()?;
    let most = shares.iter().map(|(_, pages)| *pages).max()?;
    // A page of difference is what an even division leaves.
    if most <= least + 1 {
        return None;
    }
    let listed: Vec<String> = shares
        .iter()
        .map(|(node, pages)| format!("{pages} on node {}", node.id))
        .collect();
    let total: u64 = shares.iter().map(|(_, pages)| pages).sum();
    Some(Finding::new(
        "node",
        format!(
            "the pages of {} lie unevenly: {}",
            pool.size,
            listed.join(", ")
        ),
        "threads on a node without free pages use those of another, more slowly, or none",
        format!("hugeadm --pool-spread {}:{total}", pool.size),
    ))
}

/// The pool that holds most is to give back what is too much.
fn too_much(machine: &Machine) -> Option<Finding> {
    let held = |pool: &Pool| pool.size.of(pool.total).map_or(u64::MAX, Bytes::get);
    let all = machine.pools.iter().map(held).fold(0, u64::saturating_add);
    let total = machine.meminfo.total;
    let over = all.checked_sub(total.percent(MOST)?.get() + 1)?;
    let largest = machine.pools.iter().max_by_key(|pool| held(pool))?;
    let pages = over / largest.size.get() + 1;
    (total.get() > 0).then(|| {
        Finding::new(
            "memory",
            format!(
                "the pools hold {} of {} MB of memory",
                all >> 20,
                total.get() >> 20
            ),
            "everything else shares the rest, and is killed where that does not do",
            format!("hugeadm --pool-pages-min {}:-{pages}", largest.size),
        )
    })
}

/// What the descriptors of the pools' pages take, and could give back.
fn descriptors(machine: &Machine) -> Option<Finding> {
    const DESCRIPTOR: u64 = 64;
    const WORTH: u64 = 64 << 20;
    let base = machine.base_page?.get();
    let saved = machine.pools.iter().fold(0u64, |sum, pool| {
        let each = (pool.size.get() / base).saturating_mul(DESCRIPTOR);
        let each = each.saturating_sub(base);
        sum.saturating_add(each.saturating_mul(pool.total.get()))
    });
    (machine.sysctl.hugetlb_optimize_vmemmap == Some(0) && saved >= WORTH).then(|| {
        let saved = Bytes::new(saved).get() >> 20;
        Finding::new(
            "memory",
            format!("the kernel keeps {saved} MB of descriptors of the pools' pages"),
            "they can be given back (HVO) by pages that are made afterwards: empty the pool then, \
             and fill it again",
            "hugeadm --hvo on",
        )
    })
}
