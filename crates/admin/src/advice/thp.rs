//! Findings about transparent huge pages: settings that cost memory, and those
//! that do nothing.

use hugetools_model::Machine;
use hugetools_model::thp::{Thp, ThpSize};

use super::Finding;

pub(super) fn find(thp: &Thp, machine: &Machine, found: &mut Vec<Finding>) {
    let always = thp.is_always();
    found.extend(cost(always, machine));
    found.extend(stalls(always, thp));
    found.extend(nothing(thp));
    found.extend(shared(thp));
    let settings = &machine.thp_settings;
    if settings.use_zero_page == Some(0) && thp.serves_madvise() {
        found.push(Finding::new(
            "thp",
            "memory that is only read gets huge pages of its own (use_zero_page is 0)",
            "it costs memory that holds only zeros",
            "hugeadm --thp-use-zero-page on",
        ));
    }
    if settings.scan_sleep_millisecs == Some(0) && thp.serves_madvise() {
        found.push(Finding::new(
            "thp",
            "khugepaged does not sleep between scans",
            "it keeps a processor busy",
            "hugeadm --thp-khugepaged-scan-sleep 10000",
        ));
    }
}

/// One used base page may become a whole huge page.
fn cost(always: bool, machine: &Machine) -> Option<Finding> {
    let pmd = machine.thp.as_ref()?.pmd_size?;
    let pages = pmd.get() / machine.base_page?.get();
    let none = machine.thp_settings.max_ptes_none?;
    (always && none + 1 >= pages).then(|| {
        Finding::new(
            "thp",
            format!(
                "all memory gets transparent huge pages, and khugepaged makes one of a single used \
                 page of {pages} (max_ptes_none is {none})"
            ),
            "programs that use their memory here and there take more of it",
            format!("hugeadm --thp-max-ptes-none {}", pages / 8),
        )
    })
}

fn stalls(always: bool, thp: &Thp) -> Option<Finding> {
    (always && thp.defrag.as_deref() == Some("always")).then(|| {
        Finding::new(
            "thp",
            "every page fault that finds no huge page frees and joins memory first (defrag is always)",
            "programs stall",
            "hugeadm --thp-defrag defer+madvise",
        )
    })
}

fn nothing(thp: &Thp) -> Option<Finding> {
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
            format!("transparent huge pages are set to {enabled}, but every size of them to never"),
            "no memory gets any",
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

fn shared(thp: &Thp) -> Option<Finding> {
    match thp.shmem_enabled.as_deref()? {
        mode @ ("deny" | "force") => Some(Finding::new(
            "thp",
            format!("shmem_enabled is {mode}, which is meant for tests"),
            "it overrides what mounts and programs ask for",
            "hugeadm --thp-shmem advise",
        )),
        "never" if thp.serves_madvise() => Some(Finding::new(
            "thp",
            "shared memory gets no transparent huge pages (shmem_enabled is never)",
            "MADV_HUGEPAGE on it does nothing, and hugectl --shm without a pool neither",
            "hugeadm --thp-shmem advise",
        )),
        _ => None,
    }
}
