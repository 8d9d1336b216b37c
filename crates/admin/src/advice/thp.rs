//! Findings about transparent huge pages: settings that waste memory, stall programs
//! or turn them off.

use hugetools_model::Machine;
use hugetools_model::thp::{Thp, ThpSize};

use super::Finding;

pub(super) fn find(thp: &Thp, machine: &Machine, found: &mut Vec<Finding>) {
    let is_always = thp.is_always();
    found.extend(bloat(is_always, machine));
    found.extend(stalls(is_always, thp));
    found.extend(disabled(thp));
    found.extend(shmem_disabled(thp));
}

/// Reports a max_ptes_none that lets khugepaged collapse a range with one used base page.
fn bloat(is_always: bool, machine: &Machine) -> Option<Finding> {
    let pmd = machine.thp.as_ref()?.pmd_size?;
    let pages = pmd.get() / machine.base_page?.get();
    let settings = &machine.thp_settings.numbers;
    let none = *settings.get("khugepaged/max_ptes_none")?;
    (is_always && none + 1 >= pages).then(|| {
        Finding::new(
            "thp",
            format!(
                "THP is set to always, and khugepaged collapses {pages} base pages even if only one \
                 is used (max_ptes_none is {none})"
            ),
            "programs that use memory sparsely need more of it",
            format!("hugeadm --thp-max-ptes-none {}", pages / 8),
        )
    })
}

fn stalls(is_always: bool, thp: &Thp) -> Option<Finding> {
    (is_always && thp.defrag.as_deref() == Some("always")).then(|| {
        Finding::new(
            "thp",
            "every page fault that finds no huge page reclaims and compacts memory first (defrag is always)",
            "programs stall",
            "hugeadm --thp-defrag defer+madvise",
        )
    })
}

fn disabled(thp: &Thp) -> Option<Finding> {
    let enabled = thp.enabled.as_deref()?;
    let any = |modes: &[&str]| {
        let of = |size: &ThpSize| {
            size.enabled
                .as_deref()
                .is_some_and(|mode| modes.contains(&mode))
        };
        thp.sizes.iter().any(of)
    };
    if any(&["always", "madvise"]) {
        return None;
    }
    if !thp.sizes.is_empty() && !any(&["inherit"]) {
        let size = thp.pmd_size.or(thp.sizes.last().map(|size| size.size))?;
        return Some(Finding::new(
            "thp",
            format!(
                "transparent huge pages are set to {enabled}, but each of their sizes to never"
            ),
            "no program gets any",
            format!("hugeadm --thp-size {size}:inherit"),
        ));
    }
    (enabled == "never").then(|| {
        Finding::new(
            "thp",
            "transparent huge pages are set to never",
            "programs that ask for them (MADV_HUGEPAGE), such as Java and hugectl --heap=thp, get none",
            "hugeadm --thp-madvise",
        )
    })
}

fn shmem_disabled(thp: &Thp) -> Option<Finding> {
    let is_off = thp.shmem_enabled.as_deref() == Some("never") && thp.serves_madvise();
    is_off.then(|| {
        Finding::new(
            "thp",
            "shared memory gets no transparent huge pages (shmem_enabled is never)",
            "MADV_HUGEPAGE has no effect on it, and neither has hugectl --shm without a pool",
            "hugeadm --thp-shmem advise",
        )
    })
}
