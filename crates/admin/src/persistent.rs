//! `--print-persistent`: settings that restore the present state at boot. Each setting
//! is in exactly one place, because two places would override each other.
//!
//! `sysctl.d` has settings that are sysctls. The kernel's command line has pools that
//! are no sysctl, that are unevenly distributed, or that need contiguous memory, which
//! is only available early at boot. `tmpfiles.d` has everything else below `/sys` and
//! `/dev`. `fstab` has the mounts. systemd sets the sysctls first. It mounts at any
//! time, and runs `tmpfiles.d` after the mounts.
//!
//! Defaults of the kernel need no line.
//!
//! **Invariants.** No setting is in two places.

mod mounts;
mod pools;

pub(crate) use pools::uneven;

use hugetools_model::memory::userfault;
use hugetools_model::thp::{self, Thp, ThpSettings};
use hugetools_model::{KPath, Machine};
use serde::Serialize;

use crate::recommend::{self, SHMMAX_AT_BOOT};

/// The lines of each place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Persistent {
    /// For a file in `/etc/sysctl.d`.
    pub sysctl: Vec<String>,
    /// For `/etc/fstab`.
    pub fstab: Vec<String>,
    /// Kernel parameters, in order.
    pub kernel_parameters: Vec<String>,
    /// Present kernel parameters that these replace.
    pub kernel_parameters_to_remove: Vec<String>,
    /// For a file in `/etc/tmpfiles.d`.
    pub tmpfiles: Vec<String>,
}

/// Returns the lines for a machine.
pub fn persistent(machine: &Machine) -> Persistent {
    let mut lines = Persistent::default();
    lines.pools(machine);
    lines.sysctls(machine);
    lines.mounts(machine);
    if let Some(thp) = &machine.thp {
        lines.transparent(thp, machine);
    }
    if let Some(group) = machine.userfault.group() {
        let line = format!("z {} 0660 root {group} - -", userfault::DEVICE);
        lines.tmpfiles.push(line);
    }
    lines
}

/// Formats all places that have lines.
pub fn text(lines: &Persistent) -> String {
    let one_line = |words: &Vec<String>| match words.is_empty() {
        true => Vec::new(),
        false => vec![words.join(" ")],
    };
    let parameters = one_line(&lines.kernel_parameters);
    let to_remove = one_line(&lines.kernel_parameters_to_remove);
    let parts: Vec<String> = [
        ("/etc/sysctl.d/90-hugepages.conf", &lines.sysctl),
        ("/etc/fstab", &lines.fstab),
        ("the kernel's command line: remove", &to_remove),
        ("the kernel's command line", &parameters),
        ("/etc/tmpfiles.d/90-hugepages.conf", &lines.tmpfiles),
    ]
    .into_iter()
    .filter(|(_, lines)| !lines.is_empty())
    .map(|(place, lines)| format!("# {place}\n{}\n", lines.join("\n")))
    .collect();
    match parts.is_empty() {
        true => "# nothing: the present state is the default at boot\n".to_owned(),
        false => parts.join("\n"),
    }
}

impl Persistent {
    fn sysctls(&mut self, machine: &Machine) {
        let sysctl = &machine.sysctl;
        let huge = !machine.pools.is_empty();
        let is_set = |kilobytes: &u64| huge && !recommend::is_kernels_own(machine, *kilobytes);
        for (key, value, keep) in [
            ("vm.hugetlb_shm_group", sysctl.hugetlb_shm_group, Some(0)),
            ("kernel.shmmax", sysctl.shmmax, Some(SHMMAX_AT_BOOT)),
            (
                "vm.min_free_kbytes",
                sysctl.min_free_kbytes.filter(is_set),
                None,
            ),
            (
                "vm.hugepages_treat_as_movable",
                sysctl.hugepages_treat_as_movable,
                Some(0),
            ),
        ] {
            if let (Some(value), true) = (value, value != keep) {
                self.sysctl.push(format!("{key} = {value}"));
            }
        }
        // Must precede the pools on the command line.
        if sysctl.hugetlb_optimize_vmemmap == Some(1) {
            let parameter = "hugetlb_free_vmemmap=on";
            self.kernel_parameters.insert(0, parameter.to_owned());
        }
    }

    fn transparent(&mut self, thp: &Thp, machine: &Machine) {
        let dir = thp::dir();
        let at_boot = machine.thp_settings.enabled_at_boot;
        if let Some(mode) = thp.enabled.as_ref().filter(|mode| at_boot != Some(mode)) {
            let parameter = format!("transparent_hugepage={mode}");
            self.kernel_parameters.push(parameter);
        }
        for (file, now, at_boot) in [
            ("defrag", &thp.defrag, "madvise"),
            ("shmem_enabled", &thp.shmem_enabled, "never"),
        ] {
            if let Some(mode) = now.as_ref().filter(|mode| *mode != at_boot) {
                self.set(&dir.join(file), mode);
            }
        }
        for size in &thp.sizes {
            let at_boot = match thp.pmd_size == Some(size.size) {
                true => "inherit",
                false => "never",
            };
            if let Some(mode) = size.enabled.as_ref().filter(|mode| *mode != at_boot) {
                self.set(&thp::size_dir(size.size).join("enabled"), mode);
            }
        }
        self.khugepaged(thp, &machine.thp_settings, machine);
    }

    fn khugepaged(&mut self, thp: &Thp, settings: &ThpSettings, machine: &Machine) {
        let base = machine.base_page.map_or(0, |base| base.get());
        let pages = thp.pmd_size.and_then(|size| size.get().checked_div(base));
        for (file, now, at_boot) in [
            ("use_zero_page", settings.use_zero_page, Some(1)),
            (
                "khugepaged/pages_to_scan",
                settings.pages_to_scan,
                pages.map(|pages| pages * 8),
            ),
            (
                "khugepaged/scan_sleep_millisecs",
                settings.scan_sleep_millisecs,
                Some(10_000),
            ),
            (
                "khugepaged/alloc_sleep_millisecs",
                settings.alloc_sleep_millisecs,
                Some(60_000),
            ),
            (
                "khugepaged/max_ptes_none",
                settings.max_ptes_none,
                pages.map(|pages| pages - 1),
            ),
        ] {
            if let (Some(number), true) = (now, now != at_boot) {
                self.set(&thp::dir().join(file), number);
            }
        }
    }

    fn set(&mut self, path: &KPath, value: impl std::fmt::Display) {
        self.tmpfiles.push(format!("w {path} - - - - {value}"));
    }
}
