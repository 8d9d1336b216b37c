//! Facts about pools on the kernel's command line, which takes effect only at boot.

use hugetools_model::hugetlb::boot::PoolParameter;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageSize};

use super::Fact;
use super::pools::pages;

pub(super) fn find(machine: &Machine) -> Vec<Fact> {
    if let Some(fact) = wrong_order(machine) {
        return vec![fact];
    }
    let asked = machine.boot.asked.iter();
    asked.filter_map(|asked| unmet(asked, machine)).collect()
}

/// Finds `hugepages=` before its `hugepagesz=`: the last size then has no count.
fn wrong_order(machine: &Machine) -> Option<Fact> {
    let (first, last) = (machine.boot.asked.first()?, machine.boot.asked.last()?);
    let default = machine.default_pool()?;
    let (None, Some(count), Some(size), None) = (first.size, first.pages, last.size, last.pages)
    else {
        return None;
    };
    Some(Fact::new(
        "kernel",
        format!(
            "the kernel's command line has hugepages={count} before hugepagesz={}",
            size.parameter()
        ),
        format!(
            "hugepages= counts pages of the preceding hugepagesz=, here of the default size {}; for \
             the next boot write each hugepagesz= before its hugepages=",
            default.size
        ),
    ))
}

fn unmet(asked: &PoolParameter, machine: &Machine) -> Option<Fact> {
    let pool = match asked.size {
        None => machine.default_pool(),
        Some(size) => machine.pool(size),
    };
    let Some(pool) = pool else {
        return Some(unsupported_size(asked.size?, asked.pages, machine));
    };
    let wanted = asked.pages?;
    (pool.minimum().get() < wanted).then(|| too_few_pages(pool, wanted))
}

fn unsupported_size(size: PageSize, count: Option<u64>, machine: &Machine) -> Fact {
    let sizes: Vec<String> = machine.pools.iter().map(|p| p.size.to_string()).collect();
    let count = match count {
        Some(_) => " and the hugepages= after it",
        None => "",
    };
    Fact::new(
        "kernel",
        format!(
            "the kernel's command line has hugepagesz={}, but this machine lacks that size",
            size.parameter()
        ),
        format!(
            "the kernel ignored it{count}; for the next boot choose one of {}",
            sizes.join(", ")
        ),
    )
}

fn too_few_pages(pool: &Pool, wanted: u64) -> Fact {
    Fact::new(
        "kernel",
        format!(
            "the kernel's command line asks for {}, but the pool's minimum is {}",
            pages(wanted, pool),
            pool.minimum()
        ),
        format!(
            "the kernel found too little memory at boot, or the pool was shrunk \
             since; to try again: hugeadm --pool-pages-min {}:{wanted}",
            pool.size
        ),
    )
}
